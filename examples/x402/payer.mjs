// Buys the report of `seller.mjs`, with the stock packages of x402, and then shows the seller the same payment once more.
//
//   npm run example examples/x402/payer.mjs
import { decodePaymentRequiredHeader } from "@x402/core/http"
import { ExactEvmScheme } from "@x402/evm"
import { decodePaymentResponseHeader, wrapFetchWithPaymentFromConfig } from "@x402/fetch"
import { network, payer } from "./parties.mjs"

const { SELLER_URL: url = "http://127.0.0.1:4021/report" } = process.env

let paid
const remembering = (input, init) => {
  const request = new Request(input, init)
  if (request.headers.has("payment-signature")) paid = request.clone()
  return fetch(request)
}
const schemes = [{ network, client: new ExactEvmScheme(payer) }]
// The stock client pays only in tokens that it knows, a dollar at most. Other than here, name the tokens that you trust.
const spendControls = { allowedAssets: true }
const fetchWithPayment = wrapFetchWithPaymentFromConfig(remembering, { schemes, spendControls })

const bought = await fetchWithPayment(url)
const { transaction } = decodePaymentResponseHeader(bought.headers.get("payment-response"))
console.log("bought:", bought.status, await bought.text(), transaction)

const again = await fetch(paid)
console.log("again:", again.status, decodePaymentRequiredHeader(again.headers.get("payment-required")).error)
