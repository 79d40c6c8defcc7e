// A backup while transactions are open, 20 more sends, and a restore: the ledger has forgotten what happened after the backup.
import { Array, DateTime, Effect } from "effect"
import * as path from "node:path"
import { until } from "../testkit/process/Folder.ts"
import * as Service from "../testkit/process/Service.ts"
import type { Listening } from "../testkit/process/Service.ts"
import type { Case } from "./Case.ts"
import * as Load from "./sending/Load.ts"
import type { Accepted } from "./sending/Load.ts"
import * as Node from "./sending/Node.ts"
import * as Relayers from "./sending/Relayers.ts"
import * as Verdict from "./sending/Verdict.ts"
import * as World from "./World.ts"

/** Transactions of each kind. */
const inFlight = 10
const waiting = 5
const forgotten = 20

/** Milliseconds after the backup began. What becomes due before the restore is executed before it, the rest is not. */
const early = 12_000
const late = 50_000

/** Milliseconds in which a transaction would be signed if it did not wait for an operator. */
const observed = 8000

const after = (milliseconds: number) =>
  Effect.map(DateTime.now, (now) => DateTime.formatIso(DateTime.addDuration(now, milliseconds)))

const become = (service: Listening, status: string, sent: ReadonlyArray<Accepted>) =>
  Effect.forEach(
    sent,
    (one) =>
      until(
        `${status} of ${one.slot}`,
        Effect.map(Verdict.shown(service, one), (row) => (row.status === status ? true : undefined)),
        "1 minute"
      ),
    { concurrency: 4, discard: true }
  )

const answer = (service: Listening, { relayer, id }: Accepted, given: "send" | "give_up") =>
  service.call(`/api/v1/relayers/${relayer.id}/nonce/resync`, { body: { answer: given, transaction_id: id } })

export const RelayRestore: Case = {
  name: "relay-restore",
  promise: "backup, 20 sends, restore: each effect once; what may have been executed waits for an operator's answer",
  run: ({ tally }) =>
    Effect.gen(function* () {
      const world = yield* World.make
      const node = yield* Node.start
      const file = path.join(world.home, "relayer.backup")
      const command = Effect.fnUntraced(function* (...flags: ReadonlyArray<string>) {
        const ended = yield* Service.run({ folder: world.home, env: world.env, flags })
        if (ended.code !== 0) return yield* Effect.die(new Error(ended.stderr))
      })
      let slot = 0
      const sendAll = Effect.fnUntraced(function* (
        service: Listening,
        relayers: ReadonlyArray<Relayers.Relayer>,
        count: number,
        more: object = {}
      ) {
        return yield* Effect.forEach(Array.range(1, count), () => {
          const relayer = relayers[slot % relayers.length]
          return relayer === undefined ? Effect.die(new Error("no relayer")) : Load.send(service, relayer, slot++, more)
        })
      })

      const before = yield* Effect.gen(function* () {
        const service = yield* world.listen(Relayers.env)
        const relayers = yield* Relayers.make(service, node, { count: 2 })
        const done = yield* sendAll(service, relayers, 4)
        yield* become(service, "confirmed", done)
        yield* node.call("evm_setIntervalMining", [0])
        const flying = yield* sendAll(service, relayers, inFlight)
        yield* become(service, "submitted", flying)
        const executed = yield* sendAll(service, relayers, waiting, { not_before: yield* after(early) })
        const open = yield* sendAll(service, relayers, waiting, { not_before: yield* after(late) })
        yield* command("backup", file)
        yield* node.call("evm_setIntervalMining", [1])
        const lost = yield* sendAll(service, relayers, forgotten)
        yield* become(service, "confirmed", [...flying, ...lost, ...executed])
        yield* Service.stop(service)
        return { relayers, done, flying, executed, open, lost }
      }).pipe(Effect.scoped)

      const { relayers, executed, open } = before
      yield* command("restore", "--replace", file)
      const service = yield* world.listen(Relayers.env)
      const fresh = yield* sendAll(service, relayers, 4)
      yield* become(service, "confirmed", [...before.flying, ...fresh])
      yield* Effect.sleep(observed)
      const held = yield* Effect.forEach([...executed, ...open], (one) => Verdict.shown(service, one))
      const wrong = held.find(({ status, code }) => status !== "pending" || code !== "restored_unproven")
      tally.expect(wrong === undefined, `what has no nonce waits for an operator: ${JSON.stringify(wrong)}`)

      for (const one of executed) tally.expect((yield* answer(service, one, "give_up")).status === 200, "give_up")
      for (const one of open) tally.expect((yield* answer(service, one, "send")).status === 200, "send")
      yield* become(service, "failed", executed)
      yield* become(service, "confirmed", open)
      yield* Verdict.settled(service)
      yield* Verdict.checkEffects(tally, node, [
        ...before.done,
        ...before.flying,
        ...before.lost,
        ...executed,
        ...open,
        ...fresh
      ])
      const counts = yield* Effect.forEach(relayers, ({ address }) =>
        node.call("eth_getTransactionCount", [address, "latest"])
      )
      const total = counts.reduce<number>((sum, count) => sum + Number(count), 0)
      tally.expect(total === slot, `the accounts have ${slot} transactions: ${total}`)
      tally.set("open with a nonce at the backup", inFlight)
      tally.set("open without a nonce", 2 * waiting)
      tally.set("sent after the backup", forgotten)
      tally.set("waited for an operator", held.length)
    })
}
