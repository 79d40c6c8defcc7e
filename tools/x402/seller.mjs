// A seller with the stock packages: `/things/{n}` costs 1000 of the token. `SELLER` has its settings as JSON. It prints what it serves.
import express from "express"
import { HTTPFacilitatorClient } from "@x402/core/server"
import { ExactEvmScheme } from "@x402/evm/exact/server"
import { paymentMiddleware, x402ResourceServer } from "@x402/express"

const { facilitator, key, payTo, network, asset, amount = "1000" } = JSON.parse(process.env.SELLER)
const headers = key === undefined ? {} : { Authorization: `Bearer ${key}` }
const client = new HTTPFacilitatorClient({
  url: facilitator,
  createAuthHeaders: async () => ({ verify: headers, settle: headers, supported: headers })
})
const resources = new x402ResourceServer(client).register(network, new ExactEvmScheme())
const price = { asset, amount, extra: { name: "Test Dollar", version: "2" } }
const accepts = { scheme: "exact", price, network, payTo, maxTimeoutSeconds: 300 }

const app = express()
app.use(paymentMiddleware({ "GET /things/*": { accepts, description: "a thing" } }, resources))
app.get("/things/:id", (request, response) => response.json({ thing: request.params.id }))
const server = app.listen(0, "127.0.0.1", () => {
  process.stdout.write(`listens on http://127.0.0.1:${server.address().port}\n`)
})
