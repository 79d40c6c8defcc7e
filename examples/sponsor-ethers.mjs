// ethers: a user without ether signs an authorization (EIP-7702), and a relayer pays for the call of the user's account.
// Install ethers first: npm install ethers. The network of the relayer has the feature eip7702, and allowed_delegates of its policy names the
// delegate.
//
//   RELAYER_URL=http://127.0.0.1:8080 RELAYER=payer API_KEY=… RPC_URL=http://… USER_KEY=0x… DELEGATE=0x… DATA=0x… node examples/sponsor-ethers.mjs
import { JsonRpcProvider, Wallet } from "ethers"

const { API_KEY, DATA, DELEGATE, RELAYER, RELAYER_URL, RPC_URL, USER_KEY } = process.env
if ([API_KEY, DATA, DELEGATE, RELAYER, RELAYER_URL, RPC_URL, USER_KEY].includes(undefined)) {
  console.error("set RELAYER_URL, RELAYER, API_KEY, RPC_URL, USER_KEY, DELEGATE and DATA")
  process.exit(2)
}

const call = async (method, path, body) => {
  const response = await fetch(`${RELAYER_URL}/api/v1/relayers/${RELAYER}/transactions${path}`, {
    method,
    headers: { authorization: `Bearer ${API_KEY}`, "content-type": "application/json" },
    // JSON does not know the bigints of ethers. Its signature becomes an object with r, s and v.
    ...(body === undefined
      ? {}
      : { body: JSON.stringify(body, (_, value) => (typeof value === "bigint" ? String(value) : value)) })
  })
  const { data, error } = await response.json()
  if (!response.ok) throw new Error(`${response.status}: ${error}`)
  return data
}

const provider = new JsonRpcProvider(RPC_URL)
const user = new Wallet(USER_KEY, provider)
// It asks the provider for the chain and for the nonce of the user.
const authorization = await user.authorize({ address: DELEGATE })
const body = { to: user.address, data: DATA, authorization_list: [authorization] }
const { id } = await call("POST", "", body)
const { authorizations, status } = await call("GET", `/${id}?wait=confirmed`)
console.log("sponsored:", status, authorizations[0].delegated)

try {
  // Its nonce is used.
  await call("POST", "", body)
} catch (error) {
  console.log("refused:", error.message)
}
provider.destroy()
