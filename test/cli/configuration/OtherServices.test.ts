// What plans say about a service that is older, and about a program that is no effect-relayer. Neither gets a secret it must not have.
import * as NodeServices from "@effect/platform-node/NodeServices"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Option } from "effect"
import { Command } from "effect/cli"
import * as fs from "node:fs/promises"
import { createServer } from "node:http"
import type { AddressInfo } from "node:net"
import * as os from "node:os"
import * as path from "node:path"
import { version } from "../../../src/api/Version.ts"
import { identification } from "../../../src/api/SystemApi.ts"
import { ExportCommand } from "../../../src/cli/commands/ConfigurationCommands.ts"
import * as Planned from "../../../src/cli/configuration/Planned.ts"
import { Environment } from "../../../src/cli/kit/Environment.ts"

const secret = "hunter2-0123456789abcdef0123456789abcdef"

const file = `version: 1
name: payments
notifications:
  ops: {url: https://hooks.example.com/relayer, signing_key: {env: RELAYER_SECRET}}
`

const folder = Effect.acquireRelease(
  Effect.promise(async () => {
    const home = await fs.mkdtemp(path.join(os.tmpdir(), "effect-relayer-plan-"))
    await fs.writeFile(path.join(home, "relayers.yaml"), file)
    await fs.writeFile(path.join(home, "key"), "k".repeat(40))
    return home
  }),
  (home) => Effect.promise(() => fs.rm(home, { recursive: true }))
)

const notFound = { status: 404, body: { success: false, data: null, message: "Not Found" } }

/** A server with these headers, which answers its readiness and refuses everything else, and everything that it received. */
const serving = (headers: Record<string, string>, readiness: object, refusal = notFound) =>
  Effect.acquireRelease(
    Effect.promise(async () => {
      const received: Array<string> = []
      const server = createServer((request, response) => {
        received.push(`${request.method} ${request.url} ${request.headers.authorization ?? ""}`)
        request.on("data", (chunk: Buffer) => received.push(String(chunk)))
        const isKnown = request.url === "/api/v1/health" || request.url === "/api/v1/ready"
        response.writeHead(isKnown ? 200 : refusal.status, { "content-type": "application/json", ...headers })
        response.end(JSON.stringify(isKnown ? readiness : refusal.body))
      })
      await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve))
      const { port } = server.address() as AddressInfo
      return { server, received, url: `http://127.0.0.1:${port}` }
    }),
    ({ server }) => Effect.promise(() => new Promise((resolve) => server.close(resolve)))
  )

/** Why the plan of the file fails beside this service. */
const failureAt = Effect.fnUntraced(
  function* (server: string) {
    const home = yield* folder
    const flags = {
      server: Option.some(server),
      keyFile: Option.some(path.join(home, "key")),
      files: [path.join(home, "relayers.yaml")],
      overlays: [],
      roots: [],
      envFiles: [],
      env: [],
      strict: false,
      prune: false,
      takeOver: false,
      replace: [],
      destroyKeys: [],
      insecure: false,
      quiet: false,
      output: "text"
    } as const
    return yield* Effect.flip(Effect.flatMap(Planned.prepare(flags), Planned.make))
  },
  Effect.provideService(Environment, { variables: { RELAYER_SECRET: secret }, dotEnv: {}, isTerminal: false })
)

/** Why an export from this service fails. */
const exportFailureAt = Effect.fnUntraced(
  function* (server: string) {
    const flags = ["--all", "--name", "first", "--server", server, "--key-file", path.join(yield* folder, "key")]
    return yield* Effect.flip(Command.runWith(ExportCommand, { version })(flags))
  },
  Effect.provideService(Environment, { variables: {}, dotEnv: {}, isTerminal: false }),
  Effect.provide(NodeServices.layer)
)

const ours = { [identification.name]: identification.value }

describe("a plan", () => {
  it.effect("beside an older service names both versions", () =>
    Effect.gen(function* () {
      const { url } = yield* serving(ours, { ready: true, version: "0.0.9" })
      const failure = yield* failureAt(url)
      assert.strictEqual(failure.exitCode, 1)
      assert.strictEqual(
        failure.message,
        `this service is version 0.0.9 and has no configurations: upgrade it to ${version}`
      )
    }).pipe(Effect.scoped)
  )

  it.effect("has a line for each reason of a refusal, without characters that control a terminal", () =>
    Effect.gen(function* () {
      const error = "relayers.a.name: is required\nrelayers.b: \u001b[2Kis here twice"
      const body = { success: false, data: null, message: "Plan refused", error }
      const { url } = yield* serving(ours, { ready: true, version }, { status: 422, body })
      const { message } = yield* failureAt(url)
      assert.strictEqual(message, "Plan refused:\n  relayers.a.name: is required\n  relayers.b: ?[2Kis here twice")
    }).pipe(Effect.scoped)
  )

  it.effect("beside an older service that does not say its version names the version that is needed", () =>
    Effect.gen(function* () {
      const { url } = yield* serving(ours, { ready: true })
      const { message } = yield* failureAt(url)
      assert.strictEqual(message, `this service has no configurations: upgrade it to ${version}`)
    }).pipe(Effect.scoped)
  )

  it.effect("sends neither key nor secret to a program that is no effect-relayer, which is unreachable", () =>
    Effect.gen(function* () {
      const { received, url } = yield* serving({}, { ready: true })
      const failure = yield* failureAt(url)
      assert.strictEqual(failure.exitCode, 3)
      assert.include(failure.message, "does not identify itself as effect-relayer")
      assert.deepStrictEqual(received, ["GET /api/v1/health "])
    }).pipe(Effect.scoped)
  )

  it.effect("and an export of such a program are unreachable, too", () =>
    Effect.gen(function* () {
      const { received, url } = yield* serving({}, { ready: true })
      const failure = yield* exportFailureAt(url)
      assert.strictEqual("exitCode" in failure && failure.exitCode, 3)
      assert.include(failure.message, "does not identify itself as effect-relayer")
      assert.deepStrictEqual(received, ["GET /api/v1/health "])
    }).pipe(Effect.scoped)
  )

  it.effect("sends nothing over http to another machine", () =>
    Effect.gen(function* () {
      const failure = yield* failureAt("http://relayer.example.com")
      assert.deepStrictEqual([failure.exitCode, failure.message.includes("--insecure")], [3, true])
    }).pipe(Effect.scoped)
  )
})
