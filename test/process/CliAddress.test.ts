// Where commands send the API key. Processes run by the clock of the machine.
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import * as fs from "node:fs/promises"
import * as http from "node:http"
import type { AddressInfo } from "node:net"
import * as path from "node:path"
import { ran, running } from "../../testkit/process/Commands.ts"
import { folder } from "../../testkit/process/Folder.ts"
import * as Service from "../../testkit/process/Service.ts"

/** A host that answers every request and notes its path and whether it has a key. */
const otherHost = Effect.fnUntraced(function* (status = 200, headers: Record<string, string> = {}) {
  const seen: Array<string> = []
  const server = yield* Effect.acquireRelease(
    Effect.callback<http.Server>((resume) => {
      const made = http.createServer((request, response) => {
        seen.push(`${request.url} ${request.headers.authorization ?? "without key"}`)
        response.writeHead(status, headers).end("OK")
      })
      made.listen(0, "127.0.0.1", () => resume(Effect.succeed(made)))
    }),
    (made) => Effect.callback<void>((resume) => void made.close(() => resume(Effect.void)))
  )
  return { host: `127.0.0.1:${(server.address() as AddressInfo).port}`, seen }
})

const list = ["relayers", "list"]

describe("the CLI", () => {
  it.live("sends the key to no host that does not identify itself as the service", () =>
    Effect.gen(function* () {
      const home = yield* folder
      const { service } = yield* running()
      const location = `${service.baseUrl}/api/v1/health`
      for (const other of [yield* otherHost(), yield* otherHost(404), yield* otherHost(302, { location })]) {
        const ended = yield* ran({ folder: home, flags: [...list, "--server", `http://${other.host}`] })
        assert.strictEqual(ended.code, 1)
        assert.include(ended.stderr, `effect-relayer: ${other.host} does not identify itself as effect-relayer`)
        assert.deepStrictEqual(other.seen, ["/api/v1/health without key"])
      }
    })
  )

  it.live("does not take the address from .env for a key that is not in .env", () =>
    Effect.gen(function* () {
      const home = yield* folder
      // Even a host that imitates the service gets no key.
      const other = yield* otherHost(200, { "x-effect-relayer": "v1" })
      const data = path.join(home, "operator")
      yield* Effect.promise(() => fs.mkdir(data))
      yield* Effect.promise(() => fs.writeFile(path.join(data, "api-key"), Service.apiKey))
      const inEnvironment = { API_KEY: Service.apiKey }
      const cases: ReadonlyArray<readonly [string, string, Record<string, string>, ReadonlyArray<string>?]> = [
        ["API_KEY", "", inEnvironment],
        ["API_KEY", "API_KEY=another-key\n", inEnvironment],
        [`${data}/api-key`, `API_KEY_FILE=${data}/api-key\n`, {}],
        [`${data}/api-key`, `DATA_DIR=${data}\n`, { DATA_DIR: "" }],
        [`${data}/api-key`, "API_KEY=another-key\n", {}, ["--key-file", `${data}/api-key`]]
      ]
      for (const [place, dotEnv, env, flags = []] of cases) {
        const text = `${dotEnv}RELAYER_URL=http://${other.host}\n`
        yield* Effect.promise(() => fs.writeFile(path.join(home, ".env"), text))
        const ended = yield* ran({ folder: home, flags: [...list, ...flags], env })
        assert.strictEqual(ended.code, 2, text)
        assert.include(
          ended.stderr,
          `RELAYER_URL in .env is not used, because the API key is from ${place}: use --server`
        )
      }
      assert.isEmpty(other.seen)
    })
  )

  it.live("takes the address from --server, then the environment, then .env with its key", () =>
    Effect.gen(function* () {
      const { home, service } = yield* running()
      const write = (text: string) => Effect.promise(() => fs.writeFile(path.join(home, ".env"), text))
      const succeeds = Effect.fnUntraced(function* (env: Record<string, string>, ...flags: ReadonlyArray<string>) {
        const ended = yield* ran({ folder: home, flags: [...list, ...flags], env })
        assert.strictEqual(ended.code, 0, ended.stderr)
      })
      yield* write(`API_KEY=${Service.apiKey}\nRELAYER_URL=${service.baseUrl}\n`)
      yield* succeeds({})
      yield* write("RELAYER_URL=http://127.0.0.1:9\n")
      yield* succeeds({ API_KEY: Service.apiKey, RELAYER_URL: service.baseUrl })
      yield* succeeds({ API_KEY: Service.apiKey, RELAYER_URL: "http://127.0.0.1:9" }, "--server", service.baseUrl)
    })
  )
})
