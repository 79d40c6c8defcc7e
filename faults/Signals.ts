// The service is stopped under load by SIGTERM, by several signals, or by a terminal that closes.
import { Effect } from "effect"
import type { Case } from "./Case.ts"
import { isAlive } from "../src/sql/embedded/Pid.ts"
import * as Consistency from "./Consistency.ts"
import * as World from "./World.ts"
import * as Writer from "./Writer.ts"

const stops = 12

export const Signals: Case = {
  name: "signals",
  promise:
    "SIGTERM, SIGTERM twice, SIGHUP, SIGINT under load: accepted requests get responses, exit code 0, no process left",
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
          // The service logs each request that it accepted. A request that was refused, or that arrived as the port closed, was
          // not accepted.
          const accepted = service.stdout().match(/"message":"request"/g)?.length ?? 0
          const answered = outcomes.filter(({ status }) => status > 0).length
          tally.add("accepted", accepted)
          tally.add("answered", answered)
          tally.add("not accepted", outcomes.length - answered)
          tally.expect(
            accepted === answered,
            `accepted requests get responses: ${accepted} accepted, ${answered} answered`
          )
          const failed = outcomes.find(({ status }) => ![0, 200, 201].includes(status))
          tally.expect(failed === undefined, `accepted requests succeed: ${failed?.status} ${failed?.text}`)
          tally.expect(
            exited.code === 0,
            `the exit code is 0: ${exited.signal ?? exited.code} after ${signals.join(", ")}`
          )
          tally.expect(!isAlive(postgres), `its PostgreSQL has ended after ${signals.join(", ")}`)
        }).pipe(Effect.scoped)
      }
      const service = yield* world.listen()
      tally.set("acknowledged", ledger.acknowledged)
      tally.expect(ledger.acknowledged > stops * 10, "there were writes when the service was stopped")
      yield* Consistency.check(context, service, ledger)
      yield* Consistency.checkRows(context, yield* world.database)
    })
}
