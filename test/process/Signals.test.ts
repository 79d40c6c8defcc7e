// The end of the service on signals. Processes run by the clock of the machine.
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import * as fs from "node:fs/promises"
import * as path from "node:path"
import { beginRequest, connect, requestRest } from "../../testkit/process/Connection.ts"
import { folder, isGone, postgresPid, until } from "../../testkit/process/Folder.ts"
import * as Service from "../../testkit/process/Service.ts"

const asked = { code: 0, signal: null }

const draining = (service: Service.Service) =>
  until(
    "the service to drain",
    Effect.sync(() => service.stdout().includes('"draining"') || undefined)
  )

const refusesConnections = (baseUrl: string) =>
  until(
    "a refused connection",
    connect(baseUrl).pipe(
      Effect.scoped,
      Effect.as(undefined),
      Effect.orElseSucceed(() => true)
    )
  )

describe.concurrent("a signal", () => {
  it.live(
    "lets requests in flight finish, refuses new connections, and stops PostgreSQL; a second signal changes nothing",
    () =>
      Effect.gen(function* () {
        const home = yield* folder
        // A busy machine needs more than the ten seconds of the default for what happens before the request is finished.
        const service = yield* Service.listen({ folder: home, flags: ["--shutdown-grace-ms=120000"] })
        const postgres = (yield* postgresPid(path.join(home, "data"))) ?? assert.fail("no PostgreSQL")
        const request = yield* beginRequest(service.baseUrl)
        const idle = yield* service.call("/v1/health")
        assert.strictEqual(idle.headers.get("connection"), "keep-alive")

        yield* service.kill("SIGTERM")
        yield* draining(service)
        yield* service.kill("SIGTERM")
        yield* service.kill("SIGINT")
        yield* refusesConnections(service.baseUrl)
        yield* request.write(requestRest)
        yield* request.ended
        assert.match(request.received(), /^HTTP\/1\.1 201 Created\r\n/m)
        assert.match(request.received(), /^connection: close\r\n/im)
        assert.include(request.received(), '"id":"slow"')

        assert.deepStrictEqual(yield* service.exited, asked)
        assert.isTrue(yield* isGone(postgres))
        const files = yield* Effect.promise(() => fs.readdir(path.join(home, "data", "postgres")))
        assert.include(files, "PG_VERSION")
        assert.notInclude(files, "postmaster.pid")
        assert.strictEqual(service.stderr(), "")

        const next = yield* Service.listen({ folder: home })
        assert.strictEqual((yield* next.call("/api/v1/signers/slow")).status, 200)
        assert.notInclude(next.stdout(), "earlier service")
      })
  )

  it.live("waits for requests no longer than the grace period", () =>
    Effect.gen(function* () {
      const home = yield* folder
      // Without the grace period, the service would wait for the request as long as this time limit.
      const flags = ["--shutdown-grace-ms=200", "--request-timeout-ms=600000"]
      const service = yield* Service.listen({ folder: home, flags })
      const postgres = (yield* postgresPid(path.join(home, "data"))) ?? assert.fail("no PostgreSQL")
      const request = yield* beginRequest(service.baseUrl)
      const silent = yield* connect(service.baseUrl)
      assert.deepStrictEqual(yield* Service.stop(service), asked)
      yield* request.ended
      yield* silent.ended
      assert.isTrue(yield* isGone(postgres))
    })
  )

  it.live("SIGHUP stops the service and its PostgreSQL", () =>
    Effect.gen(function* () {
      const home = yield* folder
      const service = yield* Service.listen({ folder: home })
      const postgres = (yield* postgresPid(path.join(home, "data"))) ?? assert.fail("no PostgreSQL")
      yield* service.kill("SIGHUP")
      assert.deepStrictEqual(yield* service.exited, asked)
      assert.isTrue(yield* isGone(postgres))
      assert.include(service.stdout(), '"draining"')
    })
  )

  it.live("that ends npm, or its shell, stops the service", () =>
    Effect.gen(function* () {
      const home = yield* folder
      const env = { API_KEY: Service.apiKey, npm_lifecycle_event: "start" }
      const shell = yield* Service.listen({ folder: home, env, throughShell: true })
      const pid = Number(/^started (\d+)$/m.exec(shell.stdout())?.[1])
      yield* Effect.addFinalizer(() => Effect.ignore(Effect.try(() => process.kill(pid, "SIGKILL"))))
      const postgres = (yield* postgresPid(path.join(home, "data"))) ?? assert.fail("no PostgreSQL")
      yield* shell.kill("SIGKILL")
      // The output closes when the service has ended.
      assert.deepStrictEqual(yield* shell.exited, { code: null, signal: "SIGKILL" })
      yield* until("the end of the service", isGone(pid))
      assert.isTrue(yield* isGone(postgres))
      assert.include(shell.stdout(), '"draining"')
    })
  )

  for (const [signal, outcome] of [
    ["SIGINT", asked],
    ["SIGHUP", asked],
    ["SIGKILL", { code: null, signal: "SIGKILL" }]
  ] as const) {
    it.live(`${signal} during the first start does not prevent the next start`, () =>
      Effect.gen(function* () {
        const home = yield* folder
        const data = path.join(home, "data")
        const entries = Effect.promise(() => fs.readdir(data).catch((): Array<string> => []))
        const killed = yield* Service.start({ folder: home, env: { API_KEY: Service.apiKey, POSTGRES_BIN: "" } })
        yield* until(
          "initdb",
          Effect.map(entries, (names) => names.some((name) => name.startsWith("postgres.init-")) || undefined)
        )
        yield* killed.kill(signal)
        assert.deepStrictEqual(yield* killed.exited, outcome)
        const service = yield* Service.listen({ folder: home })
        assert.strictEqual((yield* service.call("/api/v1/ready")).status, 200)
        assert.deepStrictEqual((yield* entries).sort(), [
          "postgres",
          "postgres.lock",
          "postgres.owner",
          "storage-encryption-key"
        ])
      })
    )
  }
})
