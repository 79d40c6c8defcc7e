// Every connection of the pool waits for a lock while more requests arrive.
import { Effect, Fiber } from "effect"
import type { Case } from "./Case.ts"
import * as Requests from "./Requests.ts"
import * as Sql from "./Sql.ts"
import * as World from "./World.ts"

const timeout = 5000
const requests = 400
const slack = 1000

/** A filter, because plain pages would be read in one batch. */
const list = "/api/v1/relayers?paused=false"

/** A statement that is abandoned as it begins may run until its own timeout, which is half of that of the request. */
const longest = timeout * 1.5 + slack

export const Exhausted: Case = {
  name: "exhausted",
  promise: "a pool that slow queries exhaust: 503 within the timeout, health and 401 at once, then normal operation",
  isShort: true,
  run: ({ tally }) =>
    Effect.gen(function* () {
      const world = yield* World.make
      const service = yield* world.listen({ REQUEST_TIMEOUT_MS: String(timeout) })
      const ask = (path: string, sent?: Requests.Sent) =>
        Effect.promise(() => Requests.send(`${service.baseUrl}${path}`, sent))
      const many = (count: number, each: Effect.Effect<Requests.Outcome>) =>
        Effect.all(
          Array.from({ length: count }, () => each),
          { concurrency: "unbounded" }
        )

      const { blocked, others } = yield* Sql.locking(
        yield* world.database,
        "relayers",
        Effect.gen(function* () {
          const blocked = yield* Effect.forkChild(many(requests, ask(list)))
          yield* Effect.sleep(500)
          const health = yield* many(20, ask("/v1/health"))
          const strangers = yield* many(20, ask("/api/v1/relayers", { key: "unknown" }))
          return { blocked: yield* Fiber.join(blocked), others: [...health, ...strangers] }
        })
      )
      const freeAt = performance.now()
      const after = yield* ask(list)

      const slowest = Math.max(...blocked.map(({ milliseconds }) => milliseconds))
      tally.set("blocked", Requests.statuses(blocked))
      tally.set("slowest ms", Math.round(slowest))
      tally.set("meanwhile", Requests.statuses(others))
      tally.set("slowest meanwhile ms", Math.round(Math.max(...others.map(({ milliseconds }) => milliseconds))))
      tally.set("successful again after ms", Math.round(after.endedAt - freeAt))
      tally.expect(
        blocked.every(({ retryAfter, status }) => status === 503 && retryAfter !== undefined),
        "requests that wait for the lock get 503 with Retry-After"
      )
      tally.expect(slowest <= longest, `no response takes longer than ${longest} ms: ${slowest.toFixed(0)} ms`)
      tally.expect(
        others.every(({ milliseconds, status }) => (status === 200 || status === 401) && milliseconds < slack),
        `health and unknown keys get a response at once: ${Requests.statuses(others)}`
      )
      tally.expect(after.status === 200 && after.endedAt - freeAt < 2000, "requests succeed within 2 s")
    })
}
