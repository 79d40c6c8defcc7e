// Sells a report for a tenth of a cent, with the stock packages of x402, and settles payments through a relayer of `npm run dev`.
//
//   npm run example examples/x402/seller.mjs
import { createFacilitator, createListener } from "@effect-relayer/x402"
import { overHttp } from "@effect-relayer/x402/http"
import { HTTPFacilitatorClient } from "@x402/core/server"
import { ExactEvmScheme as Settling } from "@x402/evm/exact/facilitator"
import { ExactEvmScheme as Selling } from "@x402/evm/exact/server"
import { paymentMiddleware, x402ResourceServer } from "@x402/express"
import express from "express"
import { randomBytes } from "node:crypto"
import { once } from "node:events"
import { readFileSync } from "node:fs"
import { createServer } from "node:http"
import { network, payer, payTo } from "./parties.mjs"
import { setUp } from "./setup.mjs"

const { RELAYER_URL: baseUrl = "http://127.0.0.1:8080", SELLER_PORT: port = "4021" } = process.env
const apiKey = process.env.API_KEY ?? readFileSync("data/dev/api-key", "utf8").trim()

const listening = async (server, port) => {
  server.listen(port, "127.0.0.1")
  await once(server, "listening")
  return `http://127.0.0.1:${server.address().port}`
}

const { token, key } = await setUp({ baseUrl, apiKey, holder: payer.address })

// The facilitator: what the operator of the relayers runs.
const sellerKey = randomBytes(32).toString("hex")
const facilitator = createFacilitator({
  exact: Settling,
  relayers: overHttp({ baseUrl, apiKey: key }),
  networks: [{ network, blockTime: 1, tokens: [{ address: token }] }],
  sellers: [{ key: sellerKey, payTo: [payTo] }]
})
const url = await listening(createServer(createListener(facilitator)), 0)

// The seller: nothing in it knows of relayers.
const headers = { authorization: `Bearer ${sellerKey}` }
const createAuthHeaders = async () => ({ verify: headers, settle: headers, supported: headers })
const resources = new x402ResourceServer(new HTTPFacilitatorClient({ url, createAuthHeaders }))
resources.register(network, new Selling())

const price = { asset: token, amount: "1000", extra: { name: "Test Dollar", version: "1" } }
const routes = { "GET /report": { accepts: { scheme: "exact", network, payTo, price }, description: "A report" } }

let served = 0
const app = express()
app.use(paymentMiddleware(routes, resources))
app.get("/report", (_request, response) => {
  served += 1
  response.json({ weather: "sunny", served })
})
console.log("sells:", `${await listening(createServer(app), Number(port))}/report`)
console.log("token:", token)
