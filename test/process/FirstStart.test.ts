// The output of the first and the second start. Processes run by the clock of the machine.
import { PgClient } from "@effect/sql-pg"
import { assert, describe, inject, it } from "@effect/vitest"
import { Context, Effect, Fiber, Layer } from "effect"
import { SqlClient } from "effect/sql"
import { execFile, spawnSync } from "node:child_process"
import * as fs from "node:fs/promises"
import * as path from "node:path"
import { promisify } from "node:util"
import { clientConfig } from "../../testkit/Postgres.ts"
import { folder, until } from "../../testkit/process/Folder.ts"
import * as Service from "../../testkit/process/Service.ts"
import * as TestDatabase from "../../testkit/TestDatabase.ts"

const run = promisify(execFile)

/** A first start runs `initdb`. */
const env = { POSTGRES_BIN: "" }

const hasCurl = spawnSync("bash", ["-c", "command -v curl"]).status === 0

/** The printed lines from `export` to the last command. */
const commands = (stdout: string): string => /^ {2}export API_KEY=(?:.|\n)*?(?=\n\n)/m.exec(stdout)?.[0] ?? ""

/** Runs them unchanged. A `.curlrc` makes curl silent and ends each body with a newline. */
const paste = Effect.fnUntraced(function* (script: string, home: string) {
  yield* Effect.promise(() => fs.writeFile(path.join(home, ".curlrc"), 'silent\nwrite-out = "\\n"\n'))
  const { stdout } = yield* Effect.promise(() =>
    run("bash", ["-e", "-c", script], { env: { PATH: process.env.PATH, HOME: home } })
  )
  return stdout
    .trim()
    .split("\n")
    .map((line) => JSON.parse(line) as { readonly success: boolean; readonly data: unknown })
})

const mode = (file: string) => Effect.promise(async () => ((await fs.stat(file)).mode & 0o777).toString(8))

describe.concurrent("the first start", () => {
  it.live.skipIf(!hasCurl)("prints commands that work without changes", () =>
    Effect.gen(function* () {
      const home = yield* folder
      const service = yield* Service.listen({ folder: home, env })
      const [signer, relayer, list, explanation, ...rest] = yield* paste(commands(service.stdout()), home)
      assert.isTrue(signer?.success)
      assert.deepInclude(signer?.data, { id: "hot-1" })
      assert.isTrue(relayer?.success)
      assert.deepInclude(relayer?.data, { id: "payouts", signer_id: "hot-1" })
      assert.isTrue(list?.success)
      assert.deepStrictEqual(list?.data, [relayer?.data])
      assert.isTrue(explanation?.success)
      assert.property(explanation?.data, "state")
      assert.isEmpty(rest)
    })
  )

  it.live("creates keys that only the owner can read, and prints the API key on no output that may be kept", () =>
    Effect.gen(function* () {
      const home = yield* folder
      const data = path.join(home, "data")
      const first = yield* Service.listen({ folder: home, env })
      const key = (yield* Effect.promise(() => fs.readFile(path.join(data, "api-key"), "utf8"))).trim()
      assert.match(key, /^er_[A-Za-z0-9_-]{43}$/)
      assert.notInclude(first.stdout() + first.stderr(), key)
      assert.include(first.stdout(), `The API key is kept in ${path.join(data, "api-key")}`)
      assert.strictEqual(yield* mode(path.join(data, "api-key")), "600")
      assert.strictEqual(yield* mode(path.join(data, "storage-encryption-key")), "600")
      const created = yield* first.call("/api/v1/signers", { key, body: { id: "kept", type: "plain" } })
      assert.strictEqual(created.status, 201)
      assert.deepStrictEqual(yield* Service.stop(first), { code: 0, signal: null })

      const second = yield* Service.listen({ folder: home, env })
      assert.notInclude(second.stdout(), key)
      assert.include(second.stdout(), path.join(data, "api-key"))
      const kept = yield* second.call("/api/v1/signers/kept", { key })
      assert.strictEqual(kept.status, 200)
      assert.strictEqual((yield* second.call("/api/v1/signers/kept", { key: `${key}x` })).status, 401)
      assert.strictEqual(first.stderr() + second.stderr(), "")
    })
  )

  it.live("is followed by a restart that reads every row, though the first request was rolled back", () =>
    Effect.gen(function* () {
      const home = yield* folder
      const database = yield* TestDatabase.make
      const onServer = Service.onServer(inject("postgres"), database)
      const client = Effect.map(
        Layer.build(Layer.fresh(PgClient.layer(clientConfig(inject("postgres"), database)))),
        (built) => Context.get(built, SqlClient.SqlClient)
      )
      const [sql, locking] = [yield* client, yield* client]
      const waiting = sql`
        SELECT FROM pg_stat_activity WHERE datname = ${database} AND wait_event_type = 'Lock'`.pipe(
        Effect.orDie,
        Effect.map(({ length }) => length > 0)
      )
      const first = yield* Service.listen({ folder: home, env: onServer })
      const request = Effect.tryPromise((signal) =>
        fetch(`${first.baseUrl}/api/v1/signers`, {
          method: "POST",
          signal,
          body: JSON.stringify({ id: "aborted", type: "plain" }),
          headers: {
            authorization: `Bearer ${Service.apiKey}`,
            "content-type": "application/json",
            "idempotency-key": "first"
          }
        })
      )
      yield* Effect.gen(function* () {
        yield* locking`LOCK TABLE signers IN EXCLUSIVE MODE`
        const aborted = yield* Effect.forkChild(Effect.exit(request))
        // After ten seconds the service ends the statement itself.
        const isDue = Effect.map(waiting, (isSo) => isSo || aborted.pollUnsafe() !== undefined || undefined)
        yield* until("the first request to wait", isDue)
        yield* Fiber.interrupt(aborted)
        yield* until(
          "the first request to be rolled back",
          Effect.map(waiting, (isSo) => !isSo || undefined)
        )
      }).pipe(locking.withTransaction)

      const relayer = { id: "r", name: "r", network_type: "evm", network: "sepolia", signer_id: "s", paused: false }
      for (const [resource, body] of [
        ["signers", { id: "s", type: "plain" }],
        ["relayers", relayer]
      ] as const) {
        const { status, text } = yield* first.call(`/api/v1/${resource}`, { body })
        assert.strictEqual(status, 201, text)
      }
      const paths = ["signers", "signers/s", "relayers", "relayers/r", "networks/evm:sepolia"]
      const read = (service: Service.Listening) =>
        Effect.forEach(paths, (path) =>
          Effect.map(service.call(`/api/v1/${path}`), ({ status, text }) => [path, status, text] as const)
        )
      const before = yield* read(first)
      for (const [path, status] of before) assert.strictEqual(status, 200, path)
      yield* Service.stop(first)
      assert.deepStrictEqual(yield* read(yield* Service.listen({ folder: home, env: onServer })), before)
    })
  )

  for (const [where, options] of [
    ["on an empty directory", { mode: 0o711 }],
    ["on a directory that only its owner can enter", { mode: 0o700 }],
    ["in separate containers on one volume", { mode: 0o711, isolated: true }]
  ] as const) {
    it.live.skipIf("isolated" in options && !Service.canIsolate)(
      `of two services at once ${where}: one serves, the other is refused`,
      () =>
        Effect.gen(function* () {
          const home = yield* folder
          yield* Effect.promise(() => fs.chmod(home, options.mode))
          const isolated = "isolated" in options
          const { listening, refused } = yield* Service.contest({ folder: home, env, isolated }, [0, 0])
          assert.strictEqual(listening.length, 1)
          assert.deepStrictEqual(
            refused.map(({ code }) => code),
            [1]
          )
          assert.match(refused[0]?.stderr ?? "", Service.inUse)
          // Process ids are different in a container.
          if (!isolated) assert.include(refused[0]?.stderr, `process ${listening[0]?.pid} on `)
        })
    )
  }
})
