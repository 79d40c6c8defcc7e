// The database becomes read-only under load, like a demoted primary, and writable again.
import { Effect } from "effect"
import type { Case } from "./Case.ts"
import * as ExternalPostgres from "./ExternalPostgres.ts"
import * as Requests from "./Requests.ts"
import * as Sql from "./Sql.ts"
import * as Writing from "./Writing.ts"

const readOnly = (value: "on" | "off") => [
  `ALTER SYSTEM SET default_transaction_read_only = ${value}`,
  "SELECT pg_reload_conf()::text"
]

export const ReadOnly: Case = {
  name: "read-only",
  promise: "a read-only database: reads succeed, also with API keys of the database; writes get 503 with Retry-After",
  isShort: true,
  run: (context) =>
    Effect.gen(function* () {
      const { tally } = context
      const postgres = yield* ExternalPostgres.make
      const service = yield* postgres.listen()
      const made = yield* service.call("/api/v1/api-keys", { body: { name: "reader", scopes: ["relayers:read"] } })
      const { key } = JSON.parse(made.text).data as { readonly key: string }
      const subject = { service, database: postgres.database, lanes: 4 }
      yield* Writing.during(
        context,
        subject,
        Effect.fnUntraced(function* (ledger) {
          yield* Effect.sleep(1000)
          yield* Sql.run(postgres.database, ...readOnly("on"))
          yield* Effect.sleep(500)
          const from = ledger.outcomes.length
          const reads = yield* Effect.promise(async () => {
            const outcomes: Array<Requests.Outcome> = []
            for (let n = 0; n < 100; n++) {
              outcomes.push(await Requests.send(`${service.baseUrl}/api/v1/relayers`, n % 2 === 0 ? {} : { key }))
              outcomes.push(await Requests.send(`${service.baseUrl}/api/v1/ready`))
            }
            return outcomes
          })
          const writes = ledger.outcomes.slice(from)
          yield* Sql.run(postgres.database, "SET default_transaction_read_only = off", ...readOnly("off"))
          const backAt = performance.now()
          yield* Effect.sleep(2000)

          tally.set("reads", Requests.statuses(reads))
          tally.set("writes", Requests.statuses(writes))
          const first = ledger.outcomes.find(({ endedAt, status }) => endedAt > backAt && status === 201)
          tally.set("written again after ms", Math.round((first?.endedAt ?? Infinity) - backAt))
          tally.expect(
            reads.every(({ status }) => status === 200),
            `reads succeed: ${reads.find(({ status }) => status !== 200)?.text}`
          )
          const odd = writes.find(({ retryAfter, status }) => status !== 503 || retryAfter === undefined)
          tally.expect(
            writes.length > 0 && odd === undefined,
            `writes are 503 with Retry-After: ${odd?.status} ${odd?.text}`
          )
          tally.expect(first !== undefined && first.endedAt - backAt < 2000, "writes succeed within 2 s")
        })
      )
    })
}
