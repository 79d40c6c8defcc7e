// ethers with a relayer instead of a private key: it signs a message, sends, waits, and shows why a send is refused.
// Install ethers first: npm install ethers.
//
//   RELAYER_RPC=http://127.0.0.1:8080/api/v1/relayers/payer/rpc API_KEY=… node examples/ethers.mjs
import { FetchRequest, JsonRpcProvider, verifyMessage } from "ethers"

const to = "0x70997970C51812dc3A010C7d01b50e0d17dc79C8"

const { RELAYER_RPC, API_KEY } = process.env
if (RELAYER_RPC === undefined || API_KEY === undefined) {
  console.error("usage: RELAYER_RPC=http://…/api/v1/relayers/RELAYER/rpc API_KEY=… node examples/ethers.mjs")
  process.exit(2)
}

const request = new FetchRequest(RELAYER_RPC)
request.setHeader("authorization", `Bearer ${API_KEY}`)
const provider = new JsonRpcProvider(request)
const signer = await provider.getSigner()

const message = "Sign in to example.com"
const signature = await signer.signMessage(message)
console.log("signed:", verifyMessage(message, signature) === signer.address)

const sent = await signer.sendTransaction({ to, value: 1n })
const receipt = await sent.wait()
console.log("sent:", receipt.status, receipt.hash)

try {
  // A transfer needs 21,000 gas.
  await signer.sendTransaction({ to, gasLimit: 1n })
} catch (error) {
  console.log("refused:", error.error?.message ?? error.message)
}
provider.destroy()
