// SIGKILL of the service, of its PostgreSQL, or of both, during writes.
import { Effect } from "effect"
import type { Case } from "./Case.ts"
import * as Consistency from "./Consistency.ts"
import * as World from "./World.ts"
import * as Writer from "./Writer.ts"

const kills = 20
const lanes = 8

export const Kill: Case = {
  name: "kill",
  promise: "every acknowledged write is there, the next start needs no repair, no change is incomplete",
  run: (context) =>
    Effect.gen(function* () {
      const { random, tally } = context
      const world = yield* World.make
      const ledger = new Writer.Ledger()
      for (let count = 0; count < kills; count++) {
        const victims = random.pick(["service", "postgres", "both"])
        const after = random.int(200, 1500)
        yield* Effect.gen(function* () {
          const service = yield* world.listen()
          const postgres = yield* world.postgres
          yield* Consistency.check(context, service, ledger)
          const options = { baseUrl: () => service.baseUrl, prefix: `k${count}`, lanes, ledger }
          const writer = yield* Writer.start(options)
          yield* Effect.sleep(after)
          const pids = { service: [service.pid], postgres: [postgres], both: [service.pid, postgres] }[victims]
          yield* World.signal(pids, "SIGKILL")
          for (const pid of pids) yield* World.gone(pid)
          // A service that lost only its PostgreSQL restarts it. Writes continue meanwhile.
          if (victims === "postgres") yield* Effect.sleep(1000)
          yield* writer.stop
          if (victims === "postgres") yield* Consistency.check(context, service, ledger)
          tally.add(`kills of ${victims}`)
        }).pipe(Effect.scoped)
      }
      const service = yield* world.listen()
      yield* Consistency.check(context, service, ledger)
      yield* Consistency.checkRows(context, yield* world.database)
      tally.set("acknowledged", ledger.acknowledged)
      tally.expect(ledger.acknowledged > kills * 10, "there were writes when the processes were killed")
      const odd = ledger.outcomes.filter(({ status }) => ![0, 200, 201, 503].includes(status))
      tally.expect(odd.length === 0, `there are no other responses: ${odd[0]?.status} ${odd[0]?.text}`)
    })
}
