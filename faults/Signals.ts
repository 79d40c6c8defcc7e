// The service is stopped under load by SIGTERM, by several signals, or by a terminal that closes.
import { Effect } from "effect"
import type { Case } from "./Case.ts"
import { isProcessAlive } from "../src/sql/embedded/Postmaster.ts"
import * as World from "./World.ts"
import * as Writing from "./Writing.ts"

export const Signals: Case = {
  name: "signals",
  promise:
    "SIGTERM, SIGTERM twice, SIGHUP, SIGINT under load: accepted requests get responses, exit code 0, no process left",
  isShort: true,
  run: (context) =>
    Effect.gen(function* () {
      const { amount, random, tally } = context
      const lives = {
        count: amount(12, 3),
        writes: [300, 1000],
        env: { LOG_LEVEL: "debug" },
        checksStarts: false
      } as const
      yield* Writing.lives(context, yield* World.make, lives, ({ outcomes, postgres, service, stop }) =>
        Effect.gen(function* () {
          const signals = random.pick<ReadonlyArray<NodeJS.Signals>>([
            ["SIGTERM"],
            ["SIGTERM", "SIGTERM"],
            ["SIGHUP"],
            ["SIGINT"]
          ])
          for (const signal of signals) {
            yield* service.kill(signal)
            yield* Effect.sleep(random.int(0, 50))
          }
          const exited = yield* service.exited
          yield* stop
          tally.add(signals.join("+"))
          const sent = outcomes()
          // The service logs each request that it accepted. A request that was refused, or that arrived as the port closed, was
          // not accepted.
          const accepted = service.stdout().match(/"message":"request"/g)?.length ?? 0
          const answered = sent.filter(({ status }) => status > 0).length
          tally.add("accepted", accepted)
          tally.add("answered", answered)
          tally.add("not accepted", sent.length - answered)
          tally.expect(
            accepted === answered,
            `accepted requests get responses: ${accepted} accepted, ${answered} answered`
          )
          const failed = sent.find(({ status }) => ![0, 200, 201].includes(status))
          tally.expect(failed === undefined, `accepted requests succeed: ${failed?.status} ${failed?.text}`)
          tally.expect(
            exited.code === 0,
            `the exit code is 0: ${exited.signal ?? exited.code} after ${signals.join(", ")}`
          )
          tally.expect(!isProcessAlive(postgres), `its PostgreSQL has ended after ${signals.join(", ")}`)
        })
      )
    })
}
