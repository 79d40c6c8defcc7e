// SIGKILL of the service, of its PostgreSQL, or of both, while transactions are being sent.
import { Effect } from "effect"
import * as Anvil from "../testkit/Anvil.ts"
import { until } from "../testkit/process/Folder.ts"
import type { Case } from "./Case.ts"
import * as Senders from "./Senders.ts"
import * as World from "./World.ts"

const kills = 10
const relayers = 4
const perRound = 5

export const Relay: Case = {
  name: "relay",
  promise: "kills while sending: each accepted transaction is confirmed, its effect happens once, nonces have no holes",
  run: ({ random, tally }) =>
    Effect.gen(function* () {
      const world = yield* World.make
      const node = yield* Anvil.start({ blockTime: 1 })
      const env = { OUTBOUND_ALLOW: "127.0.0.1", WATCH: "on" }
      const senders = yield* Effect.scoped(
        Effect.flatMap(world.listen(env), (service) => Senders.relayers(service, node.url, relayers))
      )
      for (const { address } of senders) yield* node.call("anvil_setBalance", [address, "0x56bc75e2d63100000"])
      let accepted = 0
      for (let count = 0; count < kills; count++) {
        const victims = random.pick(["service", "postgres", "both"])
        const after = random.int(100, 2500)
        yield* Effect.gen(function* () {
          const service = yield* world.listen(env)
          const postgres = yield* world.postgres
          accepted += yield* Senders.accept(yield* world.database, senders, perRound)
          yield* Effect.sleep(after)
          const pids = { service: [service.pid], postgres: [postgres], both: [service.pid, postgres] }[victims]
          yield* World.signal(pids, "SIGKILL")
          for (const pid of pids) yield* World.gone(pid)
          if (victims === "postgres") yield* Effect.sleep(2000)
          tally.add(`kills of ${victims}`)
        }).pipe(Effect.scoped)
      }
      yield* world.listen(env)
      yield* world.postgres
      const database = yield* world.database
      const isDone = Effect.map(Senders.states(database), (states) =>
        states.get("confirmed") === accepted ? true : undefined
      )
      const done = yield* Effect.exit(until("the end of all transactions", isDone, "2 minutes"))
      tally.set("accepted", accepted)
      tally.expect(
        done._tag === "Success",
        `all are confirmed: ${JSON.stringify([...(yield* Senders.states(database))])}`
      )
      const effects = Number(yield* node.call("eth_getBalance", [Senders.receiver, "latest"]))
      tally.expect(effects === accepted, `each effect happens once: ${effects} of ${accepted}`)
      for (const { address } of senders) {
        const nonces = Number(yield* node.call("eth_getTransactionCount", [address, "latest"]))
        tally.expect(nonces === kills * perRound, `nonces have no holes: ${nonces} of ${kills * perRound}`)
      }
    })
}
