// SIGKILL of the service, of its PostgreSQL, or of both, during writes.
import { Effect } from "effect"
import type { Case } from "./Case.ts"
import * as Consistency from "./Consistency.ts"
import * as World from "./World.ts"
import * as Writing from "./Writing.ts"

export const Kill: Case = {
  name: "kill",
  promise: "every acknowledged write is there, the next start needs no repair, no change is incomplete",
  isShort: true,
  run: (context) =>
    Effect.gen(function* () {
      const { amount, random, tally } = context
      const lives = { count: amount(20, 3), checksStarts: true }
      const ledger = yield* Writing.lives(context, yield* World.make, lives, ({ ledger, postgres, service, stop }) =>
        Effect.gen(function* () {
          const victims = random.pick(World.victims)
          yield* World.kill(victims, { service: service.pid, postgres })
          // A service that lost only its PostgreSQL restarts it. Writes continue meanwhile.
          if (victims === "postgres") yield* Effect.sleep(1000)
          yield* stop
          if (victims === "postgres") yield* Consistency.check(context, service, ledger)
          tally.add(`kills of ${victims}`)
        })
      )
      const odd = ledger.outcomes.filter(({ status }) => ![0, 200, 201, 503].includes(status))
      tally.expect(odd.length === 0, `there are no other responses: ${odd[0]?.status} ${odd[0]?.text}`)
    })
}
