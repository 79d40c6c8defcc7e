// Kills of the service and of its PostgreSQL. Processes run by the clock of the machine.
import { assert, describe, it } from "@effect/vitest"
import { Effect, Fiber } from "effect"
import * as fs from "node:fs/promises"
import * as path from "node:path"
import * as World from "../../faults/World.ts"
import { folder, isGone, postgresPid, until } from "../../testkit/process/Folder.ts"
import * as Service from "../../testkit/process/Service.ts"

const killed: Service.Exited = { code: null, signal: "SIGKILL" }

const kill = (pid: number) => Effect.sync(() => void process.kill(pid, "SIGKILL"))

const gone = (pid: number) => until(`the end of ${pid}`, isGone(pid))

/** Creates signers until the service is gone. Returns the ids of those that it acknowledged. */
const writeUntilTheEnd = (service: Service.Listening) =>
  Effect.gen(function* () {
    const acknowledged: Array<string> = []
    const writing = Effect.gen(function* () {
      for (let count = 0; ; count++) {
        const id = `signer-${service.pid}-${count}`
        const answer = yield* service.call("/api/v1/signers", { body: { id, type: "plain" } })
        assert.strictEqual(answer.status, 201)
        acknowledged.push(id)
      }
    })
    const fiber = yield* Effect.forkScoped(Effect.exit(writing))
    yield* until(
      "some signers",
      Effect.sync(() => acknowledged.length >= 20 || undefined)
    )
    return { acknowledged: Effect.as(Fiber.await(fiber), acknowledged) }
  })

const ids = (service: Service.Listening) =>
  Effect.map(service.call("/api/v1/signers?per_page=1000"), ({ text }) =>
    (JSON.parse(text) as { readonly data: ReadonlyArray<{ readonly id: string }> }).data.map(({ id }) => id)
  )

describe.concurrent("a kill", () => {
  it.live("of the service, and then of both processes, loses no acknowledged write", () =>
    Effect.gen(function* () {
      const home = yield* folder
      const postgres = Effect.map(postgresPid(path.join(home, "data")), (pid) => pid ?? assert.fail("no PostgreSQL"))

      const first = yield* Service.listen({
        folder: home,
        env: { API_KEY: Service.apiKey, RATE_LIMIT_BURST_SIZE: "100000" }
      })
      const predecessor = yield* postgres
      const begun = yield* writeUntilTheEnd(first)
      yield* first.kill("SIGKILL")
      assert.deepStrictEqual(yield* first.exited, killed)
      const fromFirst = yield* begun.acknowledged
      yield* gone(predecessor)

      const second = yield* Service.listen({
        folder: home,
        env: { API_KEY: Service.apiKey, RATE_LIMIT_BURST_SIZE: "100000" }
      })
      assert.notInclude(second.stdout(), "earlier service")
      assert.includeMembers(yield* ids(second), fromFirst)

      const successor = yield* postgres
      assert.notStrictEqual(successor, predecessor)
      const continued = yield* writeUntilTheEnd(second)
      yield* second.kill("SIGKILL")
      yield* kill(successor)
      yield* second.exited
      const fromSecond = yield* continued.acknowledged
      yield* gone(successor)

      const third = yield* Service.listen({ folder: home })
      assert.includeMembers(yield* ids(third), [...fromFirst, ...fromSecond])
      assert.notInclude(third.stdout(), "earlier service")
      assert.strictEqual((yield* third.call("/api/v1/signers", { body: { type: "plain" } })).status, 201)
    })
  )

  it.live("of the service's parent, and then of the service, leaves no PostgreSQL behind, even a frozen one", () =>
    Effect.gen(function* () {
      const home = yield* folder
      const shell = yield* Service.listen({ folder: home, throughShell: true })
      const pid = Number(/^started (\d+)$/m.exec(shell.stdout())?.[1])
      yield* Effect.addFinalizer(() => Effect.ignore(kill(pid)))
      const postgres = (yield* postgresPid(path.join(home, "data"))) ?? assert.fail("no PostgreSQL")
      process.kill(postgres, "SIGSTOP")
      yield* shell.kill("SIGKILL")
      yield* kill(pid)
      assert.deepStrictEqual(yield* shell.exited, killed)
      yield* gone(postgres)
    })
  )

  it.live("of PostgreSQL causes 503 until the service has restarted it", () =>
    Effect.gen(function* () {
      const home = yield* folder
      const data = path.join(home, "data")
      const service = yield* Service.listen({ folder: home })
      const first = (yield* postgresPid(data)) ?? assert.fail("no PostgreSQL")
      yield* service.call("/api/v1/signers", { body: { id: "kept", type: "plain" } })

      // Without its files, it cannot restart before the test has seen the outage.
      const [files, hidden] = [path.join(data, "postgres"), path.join(data, "hidden")]
      yield* Effect.promise(() => fs.rename(files, hidden))
      yield* kill(first)
      const away = yield* until(
        "the service to notice",
        Effect.map(service.call("/api/v1/ready"), (answer) => (answer.status === 200 ? undefined : answer))
      )
      assert.strictEqual(away.status, 503)
      const refused = yield* service.call("/api/v1/signers")
      assert.strictEqual(refused.status, 503)
      assert.deepStrictEqual(JSON.parse(refused.text), { data: null, message: "Service Unavailable", success: false })
      assert.match(refused.headers.get("retry-after") ?? "", /^\d+$/)
      assert.strictEqual((yield* service.call("/v1/health")).status, 200)
      assert.strictEqual((yield* service.call("/api/v1/signers", { key: "nobody" })).status, 401)

      yield* Effect.promise(() => fs.rename(hidden, files))
      yield* until(
        "the service to be ready again",
        Effect.map(service.call("/api/v1/ready"), ({ status }) => (status === 200 ? true : undefined))
      )
      const second = (yield* postgresPid(data)) ?? assert.fail("no PostgreSQL")
      assert.notStrictEqual(second, first)
      assert.deepStrictEqual(yield* ids(service), ["kept"])
      assert.include(service.stdout(), "the embedded PostgreSQL ended and is restarted")

      // This time it restarts at once. Meanwhile requests get 200 or 503.
      yield* kill(second)
      const seen = new Set<number>()
      yield* until(
        "the third PostgreSQL to serve",
        Effect.gen(function* () {
          const { status } = yield* service.call("/api/v1/signers")
          seen.add(status)
          const pid = yield* postgresPid(data)
          return status === 200 && pid !== undefined && pid !== second ? true : undefined
        })
      )
      assert.isEmpty([...seen].filter((status) => status !== 200 && status !== 503))
      assert.strictEqual((yield* service.call("/v1/health")).status, 200)
      assert.deepStrictEqual(yield* Service.stop(service), { code: 0, signal: null })
    })
  )

  it.live("of both processes does not fail the next start while a session of that PostgreSQL still ends", () =>
    Effect.gen(function* () {
      const home = yield* folder
      const first = yield* Service.listen({ folder: home })
      const postgres = (yield* postgresPid(path.join(home, "data"))) ?? assert.fail("no PostgreSQL")
      const sessions = (yield* World.family(postgres)).filter((pid) => pid !== postgres)
      yield* World.signal(sessions, "SIGSTOP")
      yield* first.kill("SIGKILL")
      yield* kill(postgres)
      yield* first.exited
      yield* gone(postgres)

      const second = yield* Service.start({ folder: home })
      yield* until(
        "a start that finds the sessions",
        Effect.sync(() => second.stdout().includes("pre-existing shared memory block") || undefined)
      ).pipe(Effect.ensuring(World.signal(sessions, "SIGCONT")))
      const listening = until(
        "the service to listen",
        Effect.sync(() => second.stdout().includes("effect-relayer listens on") || undefined)
      )
      const ended = Effect.map(second.exited, ({ code }) => assert.fail(`ended with ${code}: ${second.stderr()}`))
      yield* Effect.raceFirst(listening, ended)
    })
  )

  it.live("of PostgreSQL is not caused by a second service on the same directory", () =>
    Effect.gen(function* () {
      const home = yield* folder
      const data = path.join(home, "data")
      const first = yield* Service.listen({ folder: home })
      const postgres = yield* postgresPid(data)
      const second = yield* Service.run({ folder: home })
      assert.strictEqual(second.code, 1)
      assert.match(
        second.stderr,
        new RegExp(`^effect-relayer: ${data}/postgres is in use by .*\\b${first.pid}\\b.*\\n$`)
      )
      assert.strictEqual(yield* postgresPid(data), postgres)
      assert.strictEqual((yield* first.call("/api/v1/signers", { body: { type: "plain" } })).status, 201)
    })
  )
})
