// SIGKILL of the service, its PostgreSQL, both, or the node, for two minutes while transactions are sent.
import { Effect } from "effect"
import type { Case } from "./Case.ts"
import * as Load from "./sending/Load.ts"
import * as Node from "./sending/Node.ts"
import * as Relayers from "./sending/Relayers.ts"
import * as Verdict from "./sending/Verdict.ts"
import * as World from "./World.ts"

/** Milliseconds, and those of the short form. */
const duration = 120_000
const shortDuration = 10_000

/** Also if kills take long: on a busy machine, a start takes ten seconds. */
const leastKills = 3

export const Relay: Case = {
  name: "relay",
  promise: "kills while sending: each accepted transaction is confirmed, its effect happens once, nonces have no holes",
  isShort: true,
  run: ({ amount, random, tally }) =>
    Effect.gen(function* () {
      const world = yield* World.make
      const node = yield* Node.start
      const listen = world.listen(Relayers.env)
      let service = yield* listen
      const relayers = yield* Relayers.make(service, node, { count: 4 })
      const { load, stop } = yield* Load.start({ urls: () => [service.baseUrl], relayers, random })

      const kill = Effect.fnUntraced(function* (victims: World.Victims) {
        yield* World.kill(victims, { service: service.pid, postgres: yield* world.postgres })
        if (victims !== "postgres") service = yield* listen
      })

      const until = performance.now() + amount(duration, shortDuration)
      for (let kills = 0; kills < leastKills || performance.now() < until; kills++) {
        yield* Effect.sleep(random.int(100, 2500))
        const victims = random.pick([...World.victims, "node"])
        yield* victims === "node" ? node.outage(random.int(0, 2500)) : kill(victims)
        tally.add(`kills of ${victims}`)
      }
      yield* stop
      yield* Verdict.check(tally, node, service, relayers, load)
    })
}
