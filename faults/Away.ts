// The database of `DATABASE_URL` is stopped and started again under load.
import { Effect } from "effect"
import * as Answers from "./Answers.ts"
import type { Case } from "./Case.ts"
import * as ExternalPostgres from "./ExternalPostgres.ts"
import * as Prober from "./Prober.ts"
import * as Consistency from "./Consistency.ts"
import * as Writer from "./Writer.ts"

const times = 5
const timeout = 5000

export const Away: Case = {
  name: "away",
  promise: "PostgreSQL stopped and started again: 503 with Retry-After, recovery within 2 s, nothing lost",
  run: (context) =>
    Effect.gen(function* () {
      const { random, tally } = context
      const postgres = yield* ExternalPostgres.make
      const service = yield* postgres.listen({ REQUEST_TIMEOUT_MS: String(timeout) })
      const ledger = new Writer.Ledger()
      const prober = yield* Prober.start(service.baseUrl)
      const writer = yield* Writer.start({ baseUrl: () => service.baseUrl, prefix: "a", lanes: 8, ledger })
      const outages: Array<Answers.Outage> = []
      for (let count = 0; count < times; count++) {
        yield* Effect.sleep(random.int(500, 1500))
        yield* postgres.stop
        // Zero is a restart: the outage lasts as long as the start.
        yield* Effect.sleep(random.pick([0, 1000, 4000]))
        yield* postgres.start
        outages.push({ backAt: performance.now() })
        yield* Effect.sleep(3000)
      }
      yield* writer.stop
      yield* prober.stop
      tally.set("stops", times)
      tally.set("acknowledged", ledger.acknowledged)
      Answers.check(context, prober, ledger, outages, timeout)
      yield* Consistency.check(context, service, ledger)
      yield* Consistency.checkRows(context, postgres.database)
    })
}
