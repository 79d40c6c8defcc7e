// SIGKILL in the middle of writes: of the service, of its PostgreSQL, of both.
import { Effect } from "effect"
import type { Case } from "./Case.ts"
import * as Whole from "./Whole.ts"
import * as World from "./World.ts"
import * as Writer from "./Writer.ts"

const kills = 20
const lanes = 8

export const Kill: Case = {
  name: "kill",
  promise: "every acknowledged write is there, the next start just works, nothing is half done",
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
          yield* Whole.check(context, service, ledger)
          const options = { baseUrl: () => service.baseUrl, prefix: `k${count}`, lanes, ledger }
          const writer = yield* Writer.start(options)
          yield* Effect.sleep(after)
          const pids = { service: [service.pid], postgres: [postgres], both: [service.pid, postgres] }[victims]
          yield* World.signal(pids, "SIGKILL")
          for (const pid of pids) yield* World.gone(pid)
          // One that lost its PostgreSQL alone gets it back by itself, and is written to meanwhile.
          if (victims === "postgres") yield* Effect.sleep(1000)
          yield* writer.stop
          if (victims === "postgres") yield* Whole.check(context, service, ledger)
          tally.add(`kills of ${victims}`)
        }).pipe(Effect.scoped)
      }
      const service = yield* world.listen()
      yield* Whole.check(context, service, ledger)
      yield* Whole.checkRows(context, yield* world.database)
      tally.set("acknowledged", ledger.acknowledged)
      tally.expect(ledger.acknowledged > kills * 10, "there was a load to kill in")
      const odd = ledger.outcomes.filter(({ status }) => ![0, 200, 201, 503].includes(status))
      tally.expect(odd.length === 0, `no other answers: ${odd[0]?.status} ${odd[0]?.text}`)
    })
}
