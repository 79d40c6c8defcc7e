// Several processes are one service: one port, one count, one answer about all.
import { assert, it } from "@effect/vitest"
import { Clock, Effect } from "effect"
import { until } from "../../testkit/process/Folder.ts"
import * as Service from "../../testkit/process/Service.ts"
import * as Workers from "../../testkit/process/Workers.ts"

const count = (answers: ReadonlyArray<Service.Answer>, status: number) =>
  answers.filter((answer) => answer.status === status).length

/** The value of a line of the exposition. */
const metric = Effect.fnUntraced(function* (service: Service.Listening, line: RegExp) {
  const { text } = yield* Workers.call(service, "/metrics", { headers: { accept: "text/plain" } })
  const found = text.split("\n").find((candidate) => line.test(candidate))
  return found === undefined ? undefined : Number(found.slice(found.lastIndexOf(" ")))
})

const burst = 40

const shared = Workers.Shared.layer({
  RATE_LIMIT_BURST_SIZE: String(burst),
  RATE_LIMIT_REQUESTS_PER_SECOND: "1",
  WATCH: "on"
})

it.layer(shared, { excludeTestServices: true, timeout: "60 seconds" })("with WORKERS=2", (it) => {
  it.effect("two processes serve on one port, and it is said once", () =>
    Effect.gen(function* () {
      const service = yield* Workers.Shared
      assert.lengthOf(new Set([...(yield* Service.workers(service, 2)), service.pid]), 3)
      assert.lengthOf(service.stdout().match(/listens on/g) ?? [], 1)
      const created = yield* service.call("/api/v1/signers", { body: { id: "shared", type: "plain" } })
      assert.strictEqual(created.status, 201)
      const answers = yield* Workers.calls(service, "/api/v1/signers/shared", 10)
      assert.deepStrictEqual([...new Set(answers.map(({ text }) => text))], [created.text])
    })
  )

  it.effect("the requests of a key are counted once for both", () =>
    Effect.gen(function* () {
      const service = yield* Workers.Shared
      const body = { name: "limited", scopes: ["networks:read"] }
      const { text } = yield* service.call("/api/v1/api-keys", { body })
      const { key } = (JSON.parse(text) as { readonly data: { readonly key: string } }).data
      const begun = yield* Clock.currentTimeMillis
      const answers = yield* Workers.calls(service, "/api/v1/networks", 2 * burst, { key })
      const refilled = Math.ceil(((yield* Clock.currentTimeMillis) - begun) / 1000)
      const passed = count(answers, 200)
      assert.isAtLeast(passed, burst)
      assert.isAtMost(passed, burst + refilled)
      assert.strictEqual(count(answers, 429), 2 * burst - passed)
      assert.strictEqual(yield* metric(service, /^rate_limited_requests_total /), 2 * burst - passed)
    })
  )

  it.effect("readiness is that of both: where one hangs, the other says so, and is ready", () =>
    Effect.gen(function* () {
      const service = yield* Workers.Shared
      const [frozen = 0] = yield* Service.workers(service, 2)
      const ready = Effect.map(Workers.call(service, "/api/v1/ready"), ({ text }) => JSON.parse(text) as unknown)
      const workers = { status: "healthy", health_checks: "healthy", deliveries: "healthy" }
      assert.deepNestedInclude(yield* ready, { status: "healthy", "components.workers": workers })
      yield* Effect.acquireRelease(
        Effect.sync(() => process.kill(frozen, "SIGSTOP")),
        () => Effect.sync(() => process.kill(frozen, "SIGCONT"))
      )
      const degraded = yield* until(
        "the other one to answer",
        Effect.map(Effect.timeoutOption(ready, "3 seconds"), (answer) =>
          answer._tag === "Some" ? answer.value : undefined
        )
      )
      assert.deepNestedInclude(degraded, { ready: true, status: "degraded" })
    })
  )

  it.effect("what both have counted is added up, and not forgotten when one of them ends", () =>
    Effect.gen(function* () {
      const service = yield* Workers.Shared
      const [first = 0] = yield* Service.workers(service, 2)
      const answers = /^requests_total\{.*endpoint="\/api\/v1\/signers\/:signer_id".*status="200".*\}/
      const tenCounted = until(
        "10 counted requests",
        Effect.map(metric(service, answers), (counted) => (counted === 10 ? counted : undefined))
      )
      for (let scrape = 0; scrape < 3; scrape++) yield* tenCounted
      // Of three processes, each with a Node in it.
      assert.isAbove((yield* metric(service, /^process_resident_memory_bytes /)) ?? 0, 3 * 40 * 2 ** 20)
      assert.strictEqual(yield* metric(service, /^worker_healthy\{worker="deliveries"\} /), 1)

      process.kill(first, "SIGKILL")
      yield* Service.workers(service, 3)
      for (let scrape = 0; scrape < 3; scrape++) yield* tenCounted
    })
  )
})
