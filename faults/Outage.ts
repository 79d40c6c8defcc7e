// The frame of cases in which the database is unavailable for a while, under reads and writes: checks the responses meanwhile, and
// the time until the database is used again.
import type { PgClient } from "@effect/sql-pg"
import { Effect } from "effect"
import type { Listening } from "../testkit/process/Service.ts"
import type { Context } from "./Case.ts"
import * as Prober from "./Prober.ts"
import * as Requests from "./Requests.ts"
import type { Ledger } from "./Writer.ts"
import * as Writing from "./Writing.ts"

/** Milliseconds. */
const timeout = 5000

/** Settings of the service. */
export const env = { REQUEST_TIMEOUT_MS: String(timeout) }

/** Milliseconds of load after an outage. */
const afterwards = 3000

/** Milliseconds. A response may take this much longer than its timeout on a busy machine. */
const slack = 1000

interface Outage {
  /** The time of `performance.now()` from which the database could answer again. */
  readonly backAt: number
}

/** Milliseconds from `backAt` to the first successful response. */
const recovery = (outcomes: ReadonlyArray<Requests.Outcome>, backAt: number): number => {
  const good = outcomes.filter(({ status, endedAt }) => (status === 200 || status === 201) && endedAt >= backAt)
  return Math.min(...good.map(({ endedAt }) => endedAt)) - backAt
}

const longestRecovery = 2000

const check = ({ tally }: Context, prober: Prober.Prober, ledger: Ledger, outages: ReadonlyArray<Outage>): void => {
  const asked = [...prober.reads, ...ledger.outcomes]
  const refused = asked.filter(({ status }) => status === 503)
  const slowest = Math.max(...asked.map(({ milliseconds }) => milliseconds))
  tally.set("reads", Requests.statuses(prober.reads))
  tally.set("writes", Requests.statuses(ledger.outcomes))
  tally.set("ready", Requests.statuses(prober.ready))
  tally.set("slowest response ms", Math.round(slowest))
  const odd = asked.find(({ status }) => ![200, 201, 503].includes(status))
  tally.expect(odd === undefined, `responses are successful or 503: ${odd?.status} ${odd?.text}`)
  tally.expect(
    refused.every(({ retryAfter }) => /^\d+$/.test(retryAfter ?? "")),
    "a 503 has Retry-After"
  )
  tally.expect(
    slowest <= timeout + slack,
    `no response takes longer than the timeout of ${timeout} ms: ${slowest.toFixed(0)} ms`
  )
  tally.expect(
    prober.health.length > 0 && prober.health.every(({ status }) => status === 200),
    `health stays 200: ${Requests.statuses(prober.health)}`
  )
  tally.set("slowest health ms", Math.round(Math.max(...prober.health.map(({ milliseconds }) => milliseconds))))
  const unready = prober.ready.filter(({ status }) => status === 503)
  tally.expect(unready.length > 0, "readiness is 503 meanwhile")
  tally.set("slowest readiness ms", Math.round(Math.max(...prober.ready.map(({ milliseconds }) => milliseconds))))
  for (const { backAt } of outages) {
    const [reads, writes] = [recovery(prober.reads, backAt), recovery(ledger.outcomes, backAt)]
    tally.max("slowest recovery ms", Math.max(reads, writes))
    tally.expect(reads <= longestRecovery, `reads succeed within ${longestRecovery} ms: ${reads.toFixed(0)} ms`)
    tally.expect(writes <= longestRecovery, `writes succeed within ${longestRecovery} ms: ${writes.toFixed(0)} ms`)
  }
}

interface Subject {
  readonly service: Listening
  readonly database: PgClient.PgPoolConfig
  /** Number of outages. */
  readonly times: number
}

/** `fault` ends when the database could answer again. */
export const during = Effect.fnUntraced(function* (
  context: Context,
  { times, ...subject }: Subject,
  fault: () => Effect.Effect<void>
) {
  const { random, tally } = context
  yield* Writing.during(context, subject, (ledger) =>
    Effect.gen(function* () {
      const prober = yield* Prober.start(subject.service.baseUrl)
      const outages: Array<Outage> = []
      for (let count = 0; count < times; count++) {
        yield* Effect.sleep(random.int(500, 1500))
        yield* fault()
        outages.push({ backAt: performance.now() })
        yield* Effect.sleep(afterwards)
      }
      yield* prober.stop
      tally.set("outages", times)
      check(context, prober, ledger, outages)
    })
  )
})
