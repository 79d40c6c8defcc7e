// The stock facilitator with viem's nonce manager, to compare with. `STOCK` has its settings as JSON: the node, the key and the network.
import { createServer } from "node:http"
import { x402Facilitator } from "@x402/core/facilitator"
import { toFacilitatorEvmSigner } from "@x402/evm"
import { ExactEvmScheme } from "@x402/evm/exact/facilitator"
import { createWalletClient, defineChain, http, nonceManager, publicActions } from "viem"
import { privateKeyToAccount } from "viem/accounts"

const { node, key, chainId } = JSON.parse(process.env.STOCK)
const nativeCurrency = { name: "Ether", symbol: "ETH", decimals: 18 }
const chain = defineChain({ id: chainId, name: "chain", nativeCurrency, rpcUrls: { default: { http: [node] } } })
const account = privateKeyToAccount(key, { nonceManager })
// As often as the service asks: blocks come each second.
const client = createWalletClient({ account, chain, transport: http(node), pollingInterval: 1000 }).extend(
  publicActions
)
const signer = toFacilitatorEvmSigner({ ...client, address: account.address })
const facilitator = new x402Facilitator().register(`eip155:${chainId}`, new ExactEvmScheme(signer))

const server = createServer(async (request, response) => {
  const chunks = await Array.fromAsync(request)
  const { paymentPayload, paymentRequirements } = JSON.parse(Buffer.concat(chunks).toString())
  const result = await facilitator
    .settle(paymentPayload, paymentRequirements)
    .catch((error) => ({ error: error.message }))
  response.writeHead(200, { "content-type": "application/json" }).end(JSON.stringify(result))
}).listen(0, "127.0.0.1", () => process.stdout.write(`listens on http://127.0.0.1:${server.address().port}\n`))
