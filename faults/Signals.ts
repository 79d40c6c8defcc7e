// The service is asked to stop under load: by SIGTERM, by several, by a terminal that hangs up.
import { Effect } from "effect"
import type { Case } from "./Case.ts"
import { isAlive } from "../src/sql/embedded/Pid.ts"
import * as Whole from "./Whole.ts"
import * as World from "./World.ts"
import * as Writer from "./Writer.ts"

const stops = 12

export const Signals: Case = {
  name: "signals",
  promise: "SIGTERM, SIGTERM twice, SIGHUP, SIGINT under load: what was accepted is answered, exit 0, no process left",
  run: (context) =>
    Effect.gen(function* () {
      const { random, tally } = context
      const world = yield* World.make
      const ledger = new Writer.Ledger()
      for (let count = 0; count < stops; count++) {
        const signals = random.pick<ReadonlyArray<NodeJS.Signals>>([
          ["SIGTERM"],
          ["SIGTERM", "SIGTERM"],
          ["SIGHUP"],
          ["SIGINT"]
        ])
        const after = random.int(300, 1000)
        yield* Effect.gen(function* () {
          const service = yield* world.listen({ LOG_LEVEL: "debug" })
          const postgres = yield* world.postgres
          const options = { baseUrl: () => service.baseUrl, prefix: `s${count}`, lanes: 8, ledger }
          const from = ledger.outcomes.length
          const writer = yield* Writer.start(options)
          yield* Effect.sleep(after)
          for (const signal of signals) {
            yield* service.kill(signal)
            yield* Effect.sleep(random.int(0, 50))
          }
          const exited = yield* service.exited
          yield* writer.stop
          tally.add(signals.join("+"))
          const outcomes = ledger.outcomes.slice(from)
          // A line of the log for each that the service has taken, whatever became of it. Who was refused, or came as
          // the port closed, was not taken.
          const taken = service.stdout().match(/"message":"request"/g)?.length ?? 0
          const answered = outcomes.filter(({ status }) => status > 0).length
          tally.add("taken", taken)
          tally.add("answered", answered)
          tally.add("not taken", outcomes.length - answered)
          tally.expect(taken === answered, `what was taken is answered: ${taken} taken, ${answered} answered`)
          const failed = outcomes.find(({ status }) => ![0, 200, 201].includes(status))
          tally.expect(failed === undefined, `what is accepted succeeds: ${failed?.status} ${failed?.text}`)
          tally.expect(exited.code === 0, `it ends with 0: ${exited.signal ?? exited.code} after ${signals.join(", ")}`)
          tally.expect(!isAlive(postgres), `its PostgreSQL has ended after ${signals.join(", ")}`)
        }).pipe(Effect.scoped)
      }
      const service = yield* world.listen()
      tally.set("acknowledged", ledger.acknowledged)
      tally.expect(ledger.acknowledged > stops * 10, "there was a load to stop in")
      yield* Whole.check(context, service, ledger)
      yield* Whole.checkRows(context, yield* world.database)
    })
}
