// A backup while transactions of solana are open, then sends, cancels and replacements, then a restore, which loses their rows.
import { Array, Effect } from "effect"
import { until } from "../../testkit/process/Folder.ts"
import * as Service from "../../testkit/process/Service.ts"
import type { Listening } from "../../testkit/process/Service.ts"
import type { Case } from "../Case.ts"
import * as Load from "../sending/Load.ts"
import type { Accepted } from "../sending/Load.ts"
import type { Relayer } from "../sending/Relayers.ts"
import * as Restoring from "../sending/Restoring.ts"
import * as Verdict from "../sending/Verdict.ts"
import * as World from "../World.ts"
import * as Chain from "./Chain.ts"
import * as Effects from "./Effects.ts"
import * as Opening from "./Opening.ts"

/** Transactions with bytes, and pending ones of each kind, at the backup. */
const flyingCount = 6
const ofEach = 4

/** Requests that are sent after the backup. */
const forgotten = 20

/** The slot of the new version of a replaced request. */
const newVersion = 100_000

/** Enough for two blockhashes to expire and to be finalized, on a busy machine. */
const patience = "5 minutes"

const become = (service: Listening, status: string, sent: ReadonlyArray<Accepted>) =>
  Restoring.become(service, status, sent, patience)

const pathOf = ({ id, relayer }: Accepted) => `/api/v1/relayers/${relayer.id}/transactions/${id}`

export const SolanaRestore: Case = {
  name: "solana-restore",
  promise:
    "backup, 20 sends, cancels, replacements, restore: what landed is adopted, and nothing that was final lands later",
  run: ({ amount, tally }) =>
    Effect.gen(function* () {
      const world = yield* World.make
      const chain = yield* Chain.start(2)
      const { backup, restore } = Restoring.commandsIn(world)
      let slot = 0
      const sendAll = (service: Listening, relayer: Relayer, count: number) =>
        Effect.forEach(Array.range(1, count), () => {
          // Skips the slots of prebuilt requests: these could expire, and this case does not test that.
          slot += Effects.isFixed(slot + 1) ? 2 : 1
          return Load.send(service, relayer, slot, {}, Effects.requestOf(chain.cluster, slot, relayer.address))
        })
      const away = (isAway: boolean) => {
        for (const node of chain.nodes) node.isAway = isAway
      }

      const before = yield* Effect.gen(function* () {
        const service = yield* world.listen(Opening.env)
        const [relayer] = yield* Opening.relayersOn(service, chain, { count: 1 })
        if (relayer === undefined) return yield* Effect.die(new Error("there is no relayer"))
        const done = yield* sendAll(service, relayer, ofEach)
        yield* become(service, "confirmed", done)
        chain.cluster.swallows = true
        const flying = yield* sendAll(service, relayer, flyingCount)
        yield* become(service, "submitted", flying)
        away(true)
        const executed = yield* sendAll(service, relayer, ofEach)
        const canceled = yield* sendAll(service, relayer, ofEach)
        const replaced = yield* sendAll(service, relayer, ofEach)
        yield* backup

        for (const one of canceled) {
          const { status, text } = yield* service.call(pathOf(one), { method: "DELETE" })
          tally.expect(status === 200, `a pending transaction is canceled: ${text}`)
        }
        yield* become(service, "canceled", canceled)
        for (const one of replaced) {
          // A memo, as in the request that it replaces.
          const body = Effects.memoOf(newVersion + one.slot)
          const { status, text } = yield* service.call(pathOf(one), { method: "PUT", body })
          tally.expect(status === 200, `a pending transaction is replaced: ${text}`)
        }
        chain.cluster.swallows = false
        away(false)
        const lost = yield* sendAll(service, relayer, amount(forgotten, ofEach))
        yield* become(service, "confirmed", [...flying, ...executed, ...replaced, ...lost])
        yield* Service.stop(service)
        return { relayer, done, flying, executed, canceled, replaced, lost }
      }).pipe(Effect.scoped)

      const { relayer, canceled, executed, flying, replaced } = before
      yield* restore
      const sentBefore = chain.cluster.sent.size
      const service = yield* world.listen(Opening.env)
      const held = [...canceled, ...replaced]
      const [one] = held
      if (one === undefined) return yield* Effect.die(new Error("nothing is held"))
      const early = yield* until(
        "a refused answer",
        Effect.map(Restoring.answer(service, one, "give_up"), ({ status, text }) =>
          status === 409 && text.includes("can land until") ? true : undefined
        ),
        patience
      )
      tally.expect(early, "an answer is refused while lost bytes can land")
      const fresh = yield* sendAll(service, relayer, ofEach)
      yield* become(service, "confirmed", [...flying, ...executed, ...fresh])
      tally.expect(
        chain.cluster.sent.size === sentBefore + fresh.length,
        `only what is new is sent: ${chain.cluster.sent.size - sentBefore - fresh.length} others`
      )
      for (const one of held) {
        const row = yield* Verdict.shown(service, one)
        tally.expect(
          row.status === "pending" && row.code === "restored_unproven",
          `what left no trace waits for an operator: ${JSON.stringify(row)}`
        )
        yield* until(
          "an answer",
          Effect.map(Restoring.answer(service, one, "give_up"), ({ status }) => (status === 200 ? true : undefined)),
          patience
        )
      }
      yield* become(service, "failed", held)
      yield* Verdict.settled(service)
      const counts = Effects.countIn(chain.cluster)
      const once = [...before.done, ...flying, ...executed, ...before.lost, ...fresh].map((one) => one.slot)
      const wanted = new Map([...once, ...replaced.map((one) => newVersion + one.slot)].map((one) => [one, 1]))
      const wrong = [...new Set([...wanted.keys(), ...counts.keys()])].filter(
        (one) => counts.get(one) !== wanted.get(one)
      )
      tally.expect(wrong.length === 0, `each effect is that of what was answered: not of the slots ${wrong.join(", ")}`)
      tally.set("adopted", executed.length)
      tally.set("with bytes at the backup", flying.length)
      tally.set("held", held.length)
      tally.set("forgotten", before.lost.length)
    })
}
