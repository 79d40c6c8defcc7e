// The requests that commands send: method, path, query and body.
import * as NodeServices from "@effect/platform-node/NodeServices"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Layer } from "effect"
import { createServer } from "node:http"
import type { AddressInfo } from "node:net"
import { text } from "node:stream/consumers"
import { identification } from "../../../src/api/SystemApi.ts"
import * as Cli from "../../../src/cli/Cli.ts"
import { Environment } from "../../../src/cli/kit/Environment.ts"

const refusal = { success: false, data: null, message: "Refused" }

const pageOf = (current_page: number) => ({
  success: true,
  data: [],
  pagination: { current_page, per_page: 1000, total_items: 1001 }
})

/** A service that refuses each request but those for pages of networks. */
const serving = Effect.acquireRelease(
  Effect.callback<{ readonly url: string; readonly seen: Array<string>; readonly close: () => void }>((resume) => {
    const seen: Array<string> = []
    const server = createServer(async (request, response) => {
      const { method = "", url = "" } = request
      const headers = { "content-type": "application/json", [identification.name]: identification.value }
      const tag = request.headers["if-match"] ?? ""
      const isHealth = url === "/api/v1/health"
      if (!isHealth) seen.push(`${method} ${url.replace("/api/v1", "")} ${tag}${await text(request)}`.trim())
      const { pathname, searchParams } = new URL(url, "http://localhost")
      const isList = pathname === "/api/v1/networks"
      const body = isList ? pageOf(Number(searchParams.get("page") ?? 1)) : refusal
      response.writeHead(isHealth || isList ? 200 : 400, headers).end(JSON.stringify(body))
    })
    server.listen(0, "127.0.0.1", () => {
      const { port } = server.address() as AddressInfo
      resume(Effect.succeed({ url: `http://127.0.0.1:${port}`, seen, close: () => server.close() }))
    })
  }),
  ({ close }) => Effect.sync(close)
)

/** The requests of a command after it has identified the service. */
const requestsOf = Effect.fnUntraced(function* (...args: ReadonlyArray<string>) {
  const { seen, url } = yield* serving
  const variables = { RELAYER_URL: url, API_KEY: "k".repeat(40) }
  yield* Cli.run(args, "1.0.0", () => Effect.void).pipe(
    Effect.exit,
    Effect.provide([NodeServices.layer, Layer.succeed(Environment, { variables, dotEnv: {}, isTerminal: false })])
  )
  return seen
})

const id = "4f1c2c9e-8f0b-4c56-9d5e-0a7b1f1f2a3b"

const requests: ReadonlyArray<readonly [command: string, request: string]> = [
  ["relayers get payouts", "GET /relayers/payouts"],
  ["relayers pause payouts --if-match 12.3", 'PATCH /relayers/payouts "12.3"{"paused":true}'],
  ["relayers resume payouts", 'PATCH /relayers/payouts {"paused":false}'],
  ["relayers delete payouts --yes", "DELETE /relayers/payouts"],
  ["relayers list --health --sort attention", "GET /relayers?sort=attention&include=health"],
  ["relayers list --paused", "GET /relayers?paused=true&include=health"],
  ["relayers list --paused --output json", "GET /relayers?paused=true"],
  ["relayers nonce-clear payouts --from 1 --to 2 --yes", 'POST /relayers/payouts/nonce/clear {"from":1,"to":2}'],
  [
    "relayers delegate payouts --address 0x0000000000000000000000000000000000000001 --yes",
    'POST /relayers/payouts/delegation {"address":"0x0000000000000000000000000000000000000001"}'
  ],
  ["relayers undelegate payouts --yes", "DELETE /relayers/payouts/delegation"],
  ["relayers delegation payouts", "GET /relayers/payouts/delegation"],
  ["relayers nonce-resync payouts", "POST /relayers/payouts/nonce/resync {}"],
  ["transactions list --page 2 --held", "GET /transactions?held=true"],
  ["transactions list payouts --page 2 --no-held", "GET /relayers/payouts/transactions?page=2&held=false"],
  [`transactions cancel payouts ${id}`, `DELETE /relayers/payouts/transactions/${id}`],
  [
    "notifications deliveries ops --all --relayer payouts",
    "GET /notifications/ops/deliveries?relayer_id=payouts&limit=100"
  ],
  [`notifications retry ops ${id}`, `POST /notifications/ops/deliveries/${id}/retry`],
  ["keys delete ci --yes --descendants", "DELETE /api-keys/ci?descendants=true"],
  ["keys rotate ci --overlap 1h", 'POST /api-keys/ci/rotate {"overlap_seconds":3600}'],
  [
    "keys update ci --relayer payouts --solana-max-value 5",
    'PATCH /api-keys/ci {"relayer_ids":["payouts"],"transaction_limits":{"solana":{"max_value":"5"}}}'
  ],
  ["audit list --all --order oldest", "GET /audit?limit=1000&order=oldest"],
  ["events list --type relayer.paused --type relayer.resumed", "GET /events?type=relayer.paused&type=relayer.resumed"],
  ["rotate-key", "POST /master-key/rotate"]
]

/** The parameters of a query have no order. */
const sorted = (request: string) => {
  const [, line = "", query = "", body = ""] = /^([^?{"]*)\??([^ ]*) ?(.*)$/.exec(request) ?? []
  return [line.trim(), query.split("&").toSorted(), body]
}

describe("a command that calls an endpoint", () => {
  for (const [command, request] of requests) {
    it.effect(`sends ${request} for ${command}`, () =>
      Effect.gen(function* () {
        const seen = yield* requestsOf(...command.split(" "))
        assert.deepStrictEqual(seen.map(sorted), [sorted(request)])
      })
    )
  }

  it.effect("fetches all pages with --all, each as large as the service allows", () =>
    Effect.gen(function* () {
      const seen = yield* requestsOf("networks", "list", "--all")
      const pages = ["GET /networks?per_page=1000", "GET /networks?page=2&per_page=1000"]
      assert.deepStrictEqual(seen.map(sorted), pages.map(sorted))
    })
  )
})
