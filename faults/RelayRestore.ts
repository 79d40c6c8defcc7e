// A backup while transactions are open, 20 more sends, and a restore: the ledger has forgotten what happened after the backup.
import { Array, Effect } from "effect"
import * as Service from "../testkit/process/Service.ts"
import type { Listening } from "../testkit/process/Service.ts"
import type { Case } from "./Case.ts"
import * as Load from "./sending/Load.ts"
import * as Node from "./sending/Node.ts"
import * as Relayers from "./sending/Relayers.ts"
import * as Restoring from "./sending/Restoring.ts"
import * as Verdict from "./sending/Verdict.ts"
import * as World from "./World.ts"

/** Transactions of each relayer that have a nonce when the backup begins. A chain that is further ahead than this needs an operator. */
const window = 30

/** Those that wait behind them, and those that are sent after the backup. */
const behind = 5
const forgotten = 20

/** Milliseconds in which a transaction would be signed if it did not wait for an operator. */
const observed = 8000

export const RelayRestore: Case = {
  name: "relay-restore",
  promise: "backup, 20 sends, restore: each effect once; what may have been executed waits for an operator's answer",
  run: ({ tally }) =>
    Effect.gen(function* () {
      const world = yield* World.make
      const node = yield* Node.start
      const { backup, restore } = Restoring.commandsIn(world)
      let slot = 0
      const sendAll = (service: Listening, relayer: Relayers.Relayer, count: number) =>
        Effect.forEach(Array.range(1, count), () => Load.send(service, relayer, slot++))

      const before = yield* Effect.gen(function* () {
        const service = yield* world.listen(Relayers.env)
        const network = { transaction_window: window }
        const [one, other] = yield* Relayers.make(service, node, { count: 2, network })
        if (one === undefined || other === undefined) return yield* Effect.die(new Error("there are no relayers"))
        const done = [...(yield* sendAll(service, one, 2)), ...(yield* sendAll(service, other, 2))]
        yield* Restoring.become(service, "confirmed", done)

        yield* node.call("evm_setIntervalMining", [0])
        const flying = [...(yield* sendAll(service, one, window)), ...(yield* sendAll(service, other, window))]
        yield* Restoring.become(service, "submitted", flying)
        const executed = yield* sendAll(service, one, behind)
        const open = yield* sendAll(service, other, behind)
        yield* backup
        const body = { paused: true }
        yield* service.call(`/api/v1/relayers/${other.id}`, { method: "PATCH", body })

        yield* node.call("evm_setIntervalMining", [1])
        const lost = yield* sendAll(service, one, forgotten)
        yield* Restoring.become(service, "confirmed", [...flying, ...executed, ...lost])
        yield* Service.stop(service)
        return {
          relayers: [one, other],
          all: [...done, ...flying, ...executed, ...open, ...lost],
          flying,
          executed,
          open
        }
      }).pipe(Effect.scoped)

      const { relayers, executed, open } = before
      yield* restore
      const service = yield* world.listen(Relayers.env)
      const fresh = yield* Effect.forEach(relayers, (relayer) => sendAll(service, relayer, 2))
      yield* Restoring.become(service, "confirmed", [...before.flying, ...fresh.flat()])
      yield* Effect.sleep(observed)
      const held = yield* Effect.forEach([...executed, ...open], (one) => Verdict.shown(service, one))
      const wrong = held.find(({ status, code }) => status !== "pending" || code !== "restored_unproven")
      tally.expect(wrong === undefined, `what has no nonce waits for an operator: ${JSON.stringify(wrong)}`)

      for (const one of executed)
        tally.expect((yield* Restoring.answer(service, one, "give_up")).status === 200, "give_up")
      for (const one of open) tally.expect((yield* Restoring.answer(service, one, "send")).status === 200, "send")
      yield* Restoring.become(service, "failed", executed)
      yield* Restoring.become(service, "confirmed", open)
      yield* Verdict.settled(service)
      yield* Verdict.checkEffects(tally, node, [...before.all, ...fresh.flat()])
      const counts = yield* Effect.forEach(relayers, ({ address }) =>
        node.call("eth_getTransactionCount", [address, "latest"])
      )
      const total = counts.reduce<number>((sum, count) => sum + Number(count), 0)
      tally.expect(total === slot, `the accounts have ${slot} transactions: ${total}`)
      tally.set("open with a nonce at the backup", before.flying.length)
      tally.set("open without a nonce", held.length)
      tally.set("sent after the backup", forgotten)
    })
}
