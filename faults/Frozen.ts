// Every process of PostgreSQL is frozen under load: connections are neither refused nor answered nor closed.
import { Effect } from "effect"
import type { Case } from "./Case.ts"
import * as Outage from "./Outage.ts"
import * as World from "./World.ts"

export const Frozen: Case = {
  name: "frozen",
  promise: "PostgreSQL frozen: responses within the timeout, recovery within 2 s of its return, nothing lost",
  isShort: true,
  run: (context) =>
    Effect.gen(function* () {
      const world = yield* World.make
      const service = yield* world.listen(Outage.env)
      const postgres = yield* world.postgres
      const lengths = context.amount<readonly [number, ...Array<number>]>([1000, 4000, 12_000], [4000])
      yield* Outage.during(
        context,
        { service, database: yield* world.database, times: context.amount(5, 1) },
        Effect.fnUntraced(function* () {
          const frozen = yield* World.family(postgres)
          yield* World.signal(frozen, "SIGSTOP")
          yield* Effect.sleep(context.random.pick(lengths)).pipe(Effect.ensuring(World.signal(frozen, "SIGCONT")))
        })
      )
    })
}
