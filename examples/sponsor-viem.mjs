// viem: a user without ether signs an authorization (EIP-7702), and a relayer pays for the call of the user's account.
// The network of the relayer has the feature eip7702, and allowed_delegates of its policy names the delegate.
//
//   RELAYER_URL=http://127.0.0.1:8080 RELAYER=payer API_KEY=… RPC_URL=http://… USER_KEY=0x… DELEGATE=0x… DATA=0x… node examples/sponsor-viem.mjs
import { createPublicClient, http } from "viem"
import { privateKeyToAccount } from "viem/accounts"

const { API_KEY, DATA, DELEGATE, RELAYER, RELAYER_URL, RPC_URL, USER_KEY } = process.env
if ([API_KEY, DATA, DELEGATE, RELAYER, RELAYER_URL, RPC_URL, USER_KEY].includes(undefined)) {
  console.error("set RELAYER_URL, RELAYER, API_KEY, RPC_URL, USER_KEY, DELEGATE and DATA")
  process.exit(2)
}

const call = async (method, path, body) => {
  const response = await fetch(`${RELAYER_URL}/api/v1/relayers/${RELAYER}/transactions${path}`, {
    method,
    headers: { authorization: `Bearer ${API_KEY}`, "content-type": "application/json" },
    // The object of viem has `v` as a bigint, which JSON does not know. The parity says the same.
    ...(body === undefined ? {} : { body: JSON.stringify(body, (key, value) => (key === "v" ? undefined : value)) })
  })
  const { data, error } = await response.json()
  if (!response.ok) throw new Error(`${response.status}: ${error}`)
  return data
}

const client = createPublicClient({ transport: http(RPC_URL) })
const user = privateKeyToAccount(USER_KEY)
const authorization = await user.signAuthorization({
  chainId: await client.getChainId(),
  address: DELEGATE,
  nonce: await client.getTransactionCount({ address: user.address })
})
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
