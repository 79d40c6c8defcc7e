// Every process of PostgreSQL is frozen under load: connections are neither refused nor answered nor closed.
import { Effect } from "effect"
import * as Answers from "./Answers.ts"
import type { Case } from "./Case.ts"
import * as Prober from "./Prober.ts"
import * as Consistency from "./Consistency.ts"
import * as World from "./World.ts"
import * as Writer from "./Writer.ts"

const times = 5
const timeout = 5000

export const Frozen: Case = {
  name: "frozen",
  promise: "PostgreSQL frozen: responses within the timeout, recovery within 2 s of its return, nothing lost",
  run: (context) =>
    Effect.gen(function* () {
      const { random, tally } = context
      const world = yield* World.make
      const service = yield* world.listen({ REQUEST_TIMEOUT_MS: String(timeout) })
      const postgres = yield* world.postgres
      const ledger = new Writer.Ledger()
      const prober = yield* Prober.start(service.baseUrl)
      const writer = yield* Writer.start({ baseUrl: () => service.baseUrl, prefix: "f", lanes: 8, ledger })
      const outages: Array<Answers.Outage> = []
      for (let count = 0; count < times; count++) {
        yield* Effect.sleep(random.int(500, 1500))
        const frozen = yield* World.family(postgres)
        yield* World.signal(frozen, "SIGSTOP")
        yield* Effect.sleep(random.pick([1000, 4000, 12_000])).pipe(Effect.ensuring(World.signal(frozen, "SIGCONT")))
        outages.push({ backAt: performance.now() })
        yield* Effect.sleep(3000)
      }
      yield* writer.stop
      yield* prober.stop
      tally.set("freezes", times)
      tally.set("acknowledged", ledger.acknowledged)
      Answers.check(context, prober, ledger, outages, timeout)
      yield* Consistency.check(context, service, ledger)
      yield* Consistency.checkRows(context, yield* world.database)
    })
}
