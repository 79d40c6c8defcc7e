// viem with a relayer instead of a private key: it signs a message, sends, waits, and shows why a send is refused.
//
//   RELAYER_RPC=http://127.0.0.1:8080/api/v1/relayers/payer/rpc API_KEY=… node examples/viem.mjs
import { BaseError, createWalletClient, http, publicActions, verifyMessage } from "viem"

const to = "0x70997970C51812dc3A010C7d01b50e0d17dc79C8"

const { RELAYER_RPC, API_KEY } = process.env
if (RELAYER_RPC === undefined || API_KEY === undefined) {
  console.error("usage: RELAYER_RPC=http://…/api/v1/relayers/RELAYER/rpc API_KEY=… node examples/viem.mjs")
  process.exit(2)
}

const transport = http(RELAYER_RPC, {
  fetchOptions: { headers: { authorization: `Bearer ${API_KEY}` } },
  retryCount: 0,
  timeout: 30_000
})
const client = createWalletClient({ transport, pollingInterval: 1000 }).extend(publicActions)
const [account] = await client.getAddresses()

const message = "Sign in to example.com"
const signature = await client.signMessage({ account, message })
console.log("signed:", await verifyMessage({ address: account, message, signature }))

const hash = await client.sendTransaction({ account, chain: null, to, value: 1n })
const { status, transactionHash } = await client.waitForTransactionReceipt({ hash })
console.log("sent:", status, transactionHash)

try {
  // A transfer needs 21,000 gas.
  await client.sendTransaction({ account, chain: null, to, gas: 1n })
} catch (error) {
  console.log("refused:", error instanceof BaseError ? error.details : error)
}
