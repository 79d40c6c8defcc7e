#!/usr/bin/env bash
# The payment middleware of x402 for Express settles the payment for a response of 503 whose handler is written for Node or for Hono.
#
# Packages   @x402/express, @x402/core, @x402/evm and @x402/fetch 2.27.0, express 5.2.1, hono 4.13.19, @hono/node-server 2.1.9 and
#            viem 2.57.20, from npm.
# Guess      A response of 400 and above is free: the middleware settles after the handler has answered, and only if it succeeded.
# Behaviour  It holds `writeHead`, `write` and `end` of the response back until the payment is settled, and decides by
#            `response.statusCode`. Only `response.status(503)` and `response.statusCode = 503` set that at once; a status that is given to
#            `writeHead` is held back too, so the middleware sees 200. The buyer then gets the 503 and a `PAYMENT-RESPONSE` header that says
#            success. Handlers that use `writeHead` are not written by hand only: the listener of @hono/node-server does.
# Instead    Set `response.statusCode` before `writeHead`, in a small middleware between this one and the handlers if they are not your own:
#            replace `response.writeHead` by a function that sets `response.statusCode` to its first argument and then calls the old one.
# Output
#   > express, response.status(503): the buyer gets 503 and no receipt, settled 0
#   > node, response.statusCode = 503: the buyer gets 503 and no receipt, settled 0
#   > node, response.writeHead(503): the buyer gets 503 and a receipt, settled 1
#   > hono, context.text("down", 503): the buyer gets 503 and a receipt, settled 1
#   > hono, behind a middleware that sets statusCode: the buyer gets 503 and no receipt, settled 0
set -euo pipefail
script=$(realpath "$0")
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
npm init --yes >npm.log
npm install --no-audit --no-fund --ignore-scripts @x402/express@2.27.0 @x402/core@2.27.0 @x402/evm@2.27.0 @x402/fetch@2.27.0 \
  express@5.2.1 hono@4.13.19 @hono/node-server@2.1.9 viem@2.57.20 >>npm.log 2>&1 || { cat npm.log; exit 1; }

cat >run.mjs <<'SCRIPT'
import { getRequestListener } from "@hono/node-server"
import { HTTPFacilitatorClient } from "@x402/core/server"
import { ExactEvmScheme as Buyer } from "@x402/evm/exact/client"
import { ExactEvmScheme as Seller } from "@x402/evm/exact/server"
import { paymentMiddleware, x402ResourceServer } from "@x402/express"
import { wrapFetchWithPaymentFromConfig } from "@x402/fetch"
import express from "express"
import { Hono } from "hono"
import { once } from "node:events"
import { createServer } from "node:http"
import { generatePrivateKey, privateKeyToAccount } from "viem/accounts"

const network = "eip155:84532"
const account = privateKeyToAccount(generatePrivateKey())

// A facilitator that accepts each payment and counts those that it is told to settle.
let settled = 0
const answers = {
  "/supported": () => ({ kinds: [{ x402Version: 2, scheme: "exact", network }], extensions: [], signers: {} }),
  "/verify": () => ({ isValid: true, payer: account.address }),
  "/settle": () => {
    settled += 1
    return { success: true, transaction: `0x${"1".repeat(64)}`, network, payer: account.address }
  }
}
const facilitator = createServer((request, response) => {
  request.resume()
  response.setHeader("content-type", "application/json")
  response.end(JSON.stringify(answers[request.url]()))
}).listen(0, "127.0.0.1")
await once(facilitator, "listening")

const client = new HTTPFacilitatorClient({ url: `http://127.0.0.1:${facilitator.address().port}` })
const resources = new x402ResourceServer(client).register(network, new Seller())
const price = {
  asset: "0x00000000000000000000000000000000deadbeef",
  amount: "1000",
  extra: { name: "Test Dollar", version: "2" }
}
const accepts = { scheme: "exact", price, network, payTo: "0x000000000000000000000000000000000000dEaD", maxTimeoutSeconds: 300 }

const early = (request, response, next) => {
  const writeHead = response.writeHead.bind(response)
  response.writeHead = (status, ...rest) => {
    response.statusCode = status
    return writeHead(status, ...rest)
  }
  next()
}
const hono = getRequestListener(new Hono().get("*", (context) => context.text("down", 503)).fetch)
const handlers = {
  "express, response.status(503)": [(request, response) => response.status(503).send("down")],
  "node, response.statusCode = 503": [
    (request, response) => {
      response.statusCode = 503
      response.end("down")
    }
  ],
  "node, response.writeHead(503)": [(request, response) => response.writeHead(503).end("down")],
  'hono, context.text("down", 503)': [hono],
  "hono, behind a middleware that sets statusCode": [early, hono]
}

const app = express()
app.use(paymentMiddleware({ "GET /*": { accepts, description: "a thing" } }, resources))
Object.values(handlers).forEach((list, index) => app.get(`/${index}`, ...list))
const seller = app.listen(0, "127.0.0.1")
await once(seller, "listening")

const buy = wrapFetchWithPaymentFromConfig(fetch, { schemes: [{ network, client: new Buyer(account) }], spendControls: false })
for (const [index, name] of Object.keys(handlers).entries()) {
  settled = 0
  const response = await buy(`http://127.0.0.1:${seller.address().port}/${index}`)
  await response.text()
  const receipt = response.headers.get("payment-response") === null ? "no receipt" : "a receipt"
  console.log(`${name}: the buyer gets ${response.status} and ${receipt}, settled ${settled}`)
}
for (const server of [seller, facilitator]) {
  server.close()
  server.closeAllConnections()
}
SCRIPT

grep '^#   > ' "$script" | cut -c7- >expected
node run.mjs | tee seen
diff expected seen || { echo "FAILED: the behaviour is not what the head of $script says" >&2; exit 1; }
