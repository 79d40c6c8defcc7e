// The states of relayers in the table of `relayers list`.
import * as NodeServices from "@effect/platform-node/NodeServices"
import { assert, it } from "@effect/vitest"
import { Effect, Layer } from "effect"
import { TestConsole } from "effect/testing"
import { createServer } from "node:http"
import type { AddressInfo } from "node:net"
import { identification } from "../../src/api/SystemApi.ts"
import * as Cli from "../../src/cli/Cli.ts"
import { Environment } from "../../src/cli/kit/Environment.ts"

const relayer = (id: string, state: string, more: object = {}) => ({
  id,
  name: id,
  network_type: "solana",
  network: "devnet",
  signer_id: "hot",
  address: "9WzDXwBbmkg8ZTbNMqUxvQRAyrZzDsGYdLVL9zYtAWWM",
  paused: false,
  system_disabled: false,
  health: { state, open: 1 },
  ...more
})

const page = {
  success: true,
  data: [
    relayer("works", "healthy"),
    relayer("waits", "waiting"),
    relayer("rests", "waiting", { paused: true }),
    relayer("broken", "waiting", { system_disabled: true, paused: true })
  ],
  pagination: { current_page: 1, per_page: 20, total_items: 4 }
}

const serving = Effect.acquireRelease(
  Effect.callback<{ readonly url: string; readonly close: () => void }>((resume) => {
    const server = createServer((request, response) => {
      const headers = { "content-type": "application/json", [identification.name]: identification.value }
      const isAsked = request.url?.includes("include=health") === true
      const data = isAsked ? page.data : page.data.map((shown) => ({ ...shown, health: undefined }))
      response.writeHead(200, headers).end(JSON.stringify({ ...page, data }))
    })
    server.listen(0, "127.0.0.1", () => {
      const { port } = server.address() as AddressInfo
      resume(Effect.succeed({ url: `http://127.0.0.1:${port}`, close: () => server.close() }))
    })
  }),
  ({ close }) => Effect.sync(close)
)

it.effect("a relayer whose transaction waits is listed as waiting, unless it is paused or disabled", () =>
  Effect.gen(function* () {
    const { url } = yield* serving
    const variables = { RELAYER_URL: url, API_KEY: "k".repeat(40) }
    yield* Cli.run(["relayers", "list"], "1.0.0", () => Effect.void).pipe(
      Effect.provide([NodeServices.layer, Layer.succeed(Environment, { variables, dotEnv: {}, isTerminal: false })])
    )
    const [, ...rows] = (yield* TestConsole.logLines).join("\n").trimEnd().split("\n")
    assert.deepStrictEqual(
      rows.map((row) => [row.split(/ +/u)[0], row.split(/ +/u)[4]]),
      [
        ["works", "active"],
        ["waits", "waiting"],
        ["rests", "paused"],
        ["broken", "disabled"]
      ]
    )
  }).pipe(Effect.scoped, Effect.provide(TestConsole.layer))
)
