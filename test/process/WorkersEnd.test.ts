// How several processes end: one of them, all of them, and those whose primary is gone.
import { assert, describe, inject, it } from "@effect/vitest"
import { Deferred, Effect, Fiber } from "effect"
import * as fs from "node:fs/promises"
import * as path from "node:path"
import * as TestDatabase from "../../testkit/TestDatabase.ts"
import { beginRequest, requestRest, takenPort } from "../../testkit/process/Connection.ts"
import { folder, isGone, postgresPid, until } from "../../testkit/process/Folder.ts"
import * as Service from "../../testkit/process/Service.ts"
import * as Workers from "../../testkit/process/Workers.ts"

/** Creates signers on new connections until it is told to stop; where a connection breaks, it goes on with the next. */
const writing = Effect.fnUntraced(function* (service: Service.Listening) {
  const acknowledged: Array<string> = []
  const refused: Array<number> = []
  const over = yield* Deferred.make<void>()
  let count = 0
  const write = Effect.gen(function* () {
    const id = `signer-${count++}`
    const exit = yield* Effect.exit(Workers.call(service, "/api/v1/signers", { body: { id, type: "plain" } }))
    if (exit._tag === "Failure") return
    if (exit.value.status === 201) acknowledged.push(id)
    else refused.push(exit.value.status)
  })
  const fiber = yield* Effect.forkScoped(Effect.repeat(write, { until: () => Deferred.isDone(over) }))
  const more = Effect.suspend(() => {
    const enough = acknowledged.length + 5
    return until(
      "more signers",
      Effect.sync(() => acknowledged.length >= enough || undefined)
    )
  })
  const end = Effect.andThen(Deferred.succeed(over, undefined), Fiber.join(fiber))
  return { acknowledged, refused, more, end }
})

/** Two requests for the same signer are under way when `ending` begins; one of them makes it. */
const underWay = Effect.fnUntraced(function* (service: Service.Listening, ending: Effect.Effect<void>) {
  const requests = yield* Effect.all([beginRequest(service.baseUrl), beginRequest(service.baseUrl)])
  const draining = () => service.stdout().split('"draining"').length
  const both = draining() + 2
  yield* ending
  yield* until(
    "both to drain",
    Effect.sync(() => draining() === both || undefined)
  )
  for (const request of requests) yield* request.write(requestRest)
  for (const request of requests) yield* request.ended
  const answers = requests.map(({ received }) => /^HTTP\/1\.1 (201|409) /m.exec(received())?.[1])
  assert.sameMembers(answers, ["201", "409"])
})

describe("with WORKERS=2", () => {
  it.live("a worker that ends is replaced, and no acknowledged write is lost", () =>
    Effect.gen(function* () {
      const service = yield* Workers.onServer()
      const [first = 0, second = 0] = yield* Service.workers(service, 2)
      const { acknowledged, end, more, refused } = yield* writing(service)
      yield* more
      process.kill(first, "SIGKILL")
      yield* Service.workers(service, 3)
      yield* more
      process.kill(second, "SIGTERM")
      yield* Service.workers(service, 4)
      yield* more
      yield* end
      assert.isEmpty(refused)
      for (const [pid, how] of [
        [first, "SIGKILL"],
        [second, "exit code 0"]
      ] as const) {
        assert.match(service.stdout(), new RegExp(`"a worker ended, starting another".*"pid":${pid},"how":"${how}"`))
      }
      const { text } = yield* service.call("/api/v1/signers?per_page=1000")
      const { data } = JSON.parse(text) as { readonly data: ReadonlyArray<{ readonly id: string }> }
      assert.includeMembers(
        data.map(({ id }) => id),
        acknowledged
      )
      yield* underWay(service, service.kill("SIGHUP"))
      assert.deepStrictEqual(yield* service.exited, { code: 0, signal: null })
    })
  )

  it.live("a signal lets requests in flight finish in both, then stops PostgreSQL", () =>
    Effect.gen(function* () {
      const home = yield* folder
      const service = yield* Workers.embedded(home)
      const postgres = (yield* postgresPid(path.join(home, "data"))) ?? assert.fail("no PostgreSQL")
      const workers = yield* Service.workers(service, 2)
      yield* underWay(service, service.kill("SIGTERM"))
      assert.deepStrictEqual(yield* service.exited, { code: 0, signal: null })
      for (const pid of [...workers, postgres]) assert.isTrue(yield* isGone(pid))
      assert.strictEqual(service.stderr(), "")
    })
  )

  it.live("where the first process is killed, the others finish and end, and the next start just works", () =>
    Effect.gen(function* () {
      const home = yield* folder
      const service = yield* Workers.embedded(home)
      const workers = yield* Service.workers(service, 2)
      yield* underWay(service, service.kill("SIGKILL"))
      for (const pid of workers) yield* until(`the end of ${pid}`, isGone(pid))
      const next = yield* Workers.embedded(home, { PORT: new URL(service.baseUrl).port })
      assert.strictEqual((yield* next.call("/api/v1/signers/slow")).status, 200)
    })
  )

  it.live("a kept master key is rotated in both", () =>
    Effect.gen(function* () {
      const home = yield* folder
      const service = yield* Workers.embedded(home)
      const file = path.join(home, "data", "storage-encryption-key")
      const before = yield* Effect.promise(() => fs.readFile(file, "utf8"))
      const create = (id: string) => Workers.call(service, "/api/v1/signers", { body: { id, type: "plain" } })
      const ids = ["a", "b", "c", "d"]
      for (const id of ids) assert.strictEqual((yield* create(`before-${id}`)).status, 201)
      const rotated = yield* service.call("/api/v1/master-key/rotate", { method: "POST" })
      assert.strictEqual(rotated.status, 200, rotated.text)
      assert.notStrictEqual(yield* Effect.promise(() => fs.readFile(file, "utf8")), before)

      for (const id of ids) assert.strictEqual((yield* create(`after-${id}`)).status, 201)
      for (const id of ids.flatMap((id) => [`before-${id}`, `after-${id}`])) {
        for (const { status, text } of yield* Workers.calls(service, `/api/v1/signers/${id}/verify`, 2, {
          method: "POST"
        })) {
          assert.strictEqual(status, 200, text)
        }
      }
    })
  )
})

describe("a start with WORKERS=2 is refused", () => {
  const refusal = Effect.fnUntraced(function* (more: Record<string, string>) {
    const env = { ...Service.onServer(inject("postgres"), yield* TestDatabase.make), WORKERS: "2", ...more }
    const { code, stderr, stdout } = yield* Service.run({ folder: yield* folder, env })
    assert.strictEqual(code, 1, stderr + stdout)
    assert.match(stderr, /^effect-relayer: [^\n]+\n$/)
    return stderr.trimEnd()
  })

  it.live("where the port is taken, as with one", () =>
    Effect.gen(function* () {
      const port = yield* takenPort
      const line = yield* refusal({ PORT: String(port) })
      assert.strictEqual(line, `effect-relayer: 127.0.0.1:${port} is taken: choose another PORT`)
    })
  )

  it.live("where workers end before they serve", () =>
    Effect.gen(function* () {
      const file = path.join(yield* folder, "end.cjs")
      const code = 'if (require("node:cluster").isWorker) process.kill(process.pid, "SIGKILL")'
      yield* Effect.promise(() => fs.writeFile(file, code))
      const line = yield* refusal({ NODE_OPTIONS: `--require=${file}` })
      assert.strictEqual(line, "effect-relayer: a worker does not start: it ended 3 times, the last time with SIGKILL")
    })
  )
})
