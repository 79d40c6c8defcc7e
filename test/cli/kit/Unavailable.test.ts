// What the CLI says if the service answers 401 or 503, or if the relayer is paused.
import { assert, describe, it } from "@effect/vitest"
import { Effect, Option } from "effect"
import * as fs from "node:fs/promises"
import { createServer } from "node:http"
import type { AddressInfo } from "node:net"
import * as os from "node:os"
import * as path from "node:path"
import { identification } from "../../../src/api/SystemApi.ts"
import * as Call from "../../../src/cli/kit/Call.ts"
import { Environment } from "../../../src/cli/kit/Environment.ts"
import { RelayerId } from "../../../src/domain/relayer/Relayer.ts"

const components = { database: { status: "unhealthy" }, process: { status: "healthy" }, jobs: { status: "healthy" } }

const answers: Readonly<Record<string, readonly [status: number, body: object]>> = {
  "/api/v1/health": [200, { status: "ok" }],
  "/api/v1/ready": [503, { ready: false, status: "unhealthy", components }]
}

/** A service that answers every other request with this status. */
const serving = (status: number, message: string) =>
  Effect.acquireRelease(
    Effect.callback<{ readonly url: string; readonly close: () => void }>((resume) => {
      const server = createServer((request, response) => {
        const [code, body] = answers[request.url ?? ""] ?? [status, { success: false, data: null, message }]
        const headers = { "content-type": "application/json", [identification.name]: identification.value }
        response.writeHead(code, headers).end(JSON.stringify(body))
      })
      server.listen(0, "127.0.0.1", () => {
        const { port } = server.address() as AddressInfo
        resume(Effect.succeed({ url: `http://127.0.0.1:${port}`, close: () => server.close() }))
      })
    }),
    ({ close }) => Effect.sync(close)
  )

const keyFile = Effect.acquireRelease(
  Effect.promise(async () => {
    const folder = await fs.mkdtemp(path.join(os.tmpdir(), "effect-relayer-key-"))
    await fs.writeFile(path.join(folder, "key"), "k".repeat(40))
    return folder
  }),
  (folder) => Effect.promise(() => fs.rm(folder, { recursive: true }))
)

const list = (client: Call.Client) => client.relayers.list({ query: {} })

const failureOf = Effect.fnUntraced(
  function* <E>(status: number, message: string, request: (client: Call.Client) => Effect.Effect<unknown, E>) {
    const { url } = yield* serving(status, message)
    const file = path.join(yield* keyFile, "key")
    const call = yield* Call.open({ server: Option.some(url), keyFile: Option.some(file) })
    const { message: text } = yield* Effect.flip(call(request))
    return { text, url, file }
  },
  Effect.provideService(Environment, { variables: {}, dotEnv: {}, isTerminal: false })
)

describe("a failure of the service", () => {
  it.effect("503 names the components that are not healthy", () =>
    Effect.gen(function* () {
      const { text, url } = yield* failureOf(503, "Service Unavailable", list)
      assert.strictEqual(text, `Service Unavailable; database is unhealthy: see ${url}/api/v1/ready`)
    })
  )

  it.effect("401 names where the API key came from", () =>
    Effect.gen(function* () {
      const { text, file } = yield* failureOf(401, "Unauthorized", list)
      assert.strictEqual(text, `Unauthorized; the API key is from ${file}`)
    })
  )

  it.effect("of a paused relayer names the command that resumes it", () =>
    Effect.gen(function* () {
      const id = RelayerId.make("payouts")
      const cancel = (client: Call.Client) => client.transactions.cancelPending({ params: { relayer_id: id } })
      const { text } = yield* failureOf(403, "Relayer paused", cancel)
      assert.strictEqual(text, "Relayer paused; effect-relayer relayers resume payouts")
    })
  )
})
