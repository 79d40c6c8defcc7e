// The database of `DATABASE_URL` is stopped and started again under load.
import { Effect } from "effect"
import type { Case } from "./Case.ts"
import * as ExternalPostgres from "./ExternalPostgres.ts"
import * as Outage from "./Outage.ts"

export const Away: Case = {
  name: "away",
  promise: "PostgreSQL stopped and started again: 503 with Retry-After, recovery within 2 s, nothing lost",
  isShort: true,
  run: (context) =>
    Effect.gen(function* () {
      const postgres = yield* ExternalPostgres.make
      const service = yield* postgres.listen(Outage.env)
      // Zero is a restart: the outage lasts as long as the start.
      const lengths = context.amount<readonly [number, ...Array<number>]>([0, 1000, 4000], [1000])
      yield* Outage.during(context, { service, database: postgres.database, times: context.amount(5, 1) }, () =>
        Effect.andThen(postgres.stop, Effect.andThen(Effect.sleep(context.random.pick(lengths)), postgres.start))
      )
    })
}
