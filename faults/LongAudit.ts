// Twenty callers verify a long audit log at the same time, again and again, beside another caller.
import { Effect } from "effect"
import type { Listening } from "../testkit/process/Service.ts"
import type { Case } from "./Case.ts"
import * as Load from "./Load.ts"
import * as Requests from "./Requests.ts"
import * as Sql from "./Sql.ts"
import * as World from "./World.ts"

const records = 100_000
const verifiers = 20
const rounds = 5

/** Milliseconds of a measurement. */
const during = 4000

/** Milliseconds between two requests of a balancer for readiness. */
const probing = 200

interface Verification {
  readonly valid: boolean
  readonly checked: number
  readonly next?: string
}

/** Verifies the whole log. Returns the number of records and the longest request in milliseconds. */
const verifyAll = Effect.fnUntraced(function* (service: Listening) {
  let checked = 0
  let longest = 0
  let from: string | undefined = ""
  while (from !== undefined) {
    const startedAt = performance.now()
    const { text } = yield* service.call(`/api/v1/audit/verify${from}`)
    longest = Math.max(longest, performance.now() - startedAt)
    const { data } = JSON.parse(text) as { readonly data: Verification }
    if (!data.valid) return { checked: -1, longest }
    checked += data.checked
    from = data.next === undefined ? undefined : `?from=${data.next}`
  }
  return { checked, longest }
})

export const LongAudit: Case = {
  name: "audit",
  promise:
    "20 verifications of a long audit log at once: the p99 of another caller at most doubles, readiness stays 200",
  run: ({ tally }) =>
    Effect.gen(function* () {
      const world = yield* World.make
      const service = yield* world.listen()
      yield* Sql.run(
        yield* world.database,
        `INSERT INTO audit (key_id, action, resource, resource_id)
         SELECT 'administrator', 'signer.created', 'signer', 'x' || n FROM generate_series(1, ${records}) n`
      )
      yield* Effect.repeat(Effect.delay(service.call("/metrics/audit_unlinked_records"), "1 second"), {
        until: ({ text }) => /^audit_unlinked_records 0$/m.test(text)
      })
      const whole = yield* verifyAll(service)
      tally.set("records verified", whole.checked)
      tally.set("longest request of the verification, ms", Math.round(whole.longest))
      tally.expect(whole.checked === records, `the whole log verifies: ${whole.checked}`)

      const load = (path: string, connections: number, interval: number) =>
        Effect.promise(() => Load.run({ url: `${service.baseUrl}${path}`, connections, during, interval }))
      const measure = Effect.gen(function* () {
        const probes: Array<Promise<Requests.Outcome>> = []
        const timer = setInterval(() => probes.push(Requests.send(`${service.baseUrl}/api/v1/ready`)), probing)
        const { statuses, times } = yield* load("/api/v1/relayers?per_page=10", 4, 50)
        clearInterval(timer)
        const ready = yield* Effect.promise(() => Promise.all(probes))
        tally.expect([...statuses.keys()].join() === "200", `others get 200: ${[...statuses.keys()].join(", ")}`)
        tally.expect(
          ready.every(({ status }) => status === 200),
          `readiness stays 200: ${Requests.statuses(ready)}`
        )
        return Load.quantile(times, 0.99)
      })
      const attack = load("/api/v1/audit/verify", verifiers, 1000)

      yield* measure
      const alone: Array<number> = []
      const attacked: Array<number> = []
      for (let round = 0; round < rounds; round++) {
        alone.push(yield* measure)
        const [p99, { statuses }] = yield* Effect.all([measure, attack], { concurrency: 2 })
        attacked.push(p99)
        for (const [status, count] of statuses) tally.add(`verifications with ${status}`, count)
        tally.expect(
          [...statuses.keys()].every((status) => status === 200 || status === 429),
          `verifications get 200 or 429: ${[...statuses.keys()].join(", ")}`
        )
      }
      const ratio = Load.quantile(attacked, 0.5) / Load.quantile(alone, 0.5)
      tally.set(
        "p99 of others, ms",
        `${Load.quantile(alone, 0.5).toFixed(1)} → ${Load.quantile(attacked, 0.5).toFixed(1)}`
      )
      tally.expect(ratio <= 2, `the p99 of others at most doubles: ${ratio.toFixed(2)}`)
    })
}
