// A backup while payments of stellar are open, on channels and on an account of its own, then sends, then a restore, which loses their rows.
import { Array, Effect } from "effect"
import { until } from "../../testkit/process/Folder.ts"
import * as Service from "../../testkit/process/Service.ts"
import type { Listening } from "../../testkit/process/Service.ts"
import type { Case } from "../Case.ts"
import * as Load from "../sending/Load.ts"
import type { Relayer } from "../sending/Relayers.ts"
import { answer, become, commandsIn } from "../sending/Restoring.ts"
import * as Verdict from "../sending/Verdict.ts"
import * as World from "../World.ts"
import * as Chain from "./Chain.ts"
import * as Opening from "./Opening.ts"

/** Channels of one of the two relayers. As many of its envelopes are in flight at the backup. */
const channels = 4

/** Requests of each relayer without bytes at the backup. */
const behind = 4

/** Requests of the relayer with channels that are canceled after the backup, before they have bytes: after the restore, they are sent. */
const canceled = 2

/** Requests that are sent after the backup, and after the restore. */
const forgotten = 20
const fresh = 4

/** Seconds for which envelopes are valid: they outlive the backup, during which no ledger is closed. */
const validity = 120

/** Envelopes that the database has forgotten can be applied for 360 seconds, and the machine may be busy. */
const patience = "10 minutes"

export const StellarRestore: Case = {
  name: "stellar-restore",
  promise:
    "backup, 20 sends, restore, with channels: each payment is made once; what may have been made waits for an operator, who cannot send it early",
  run: ({ amount, tally }) =>
    Effect.gen(function* () {
      const world = yield* World.make
      const chain = yield* Chain.start(2)
      const { backup, restore } = commandsIn(world)
      let slot = 0
      const sendAll = (service: Listening, relayer: Relayer, count: number) =>
        Effect.forEach(Array.range(1, count), () => {
          slot += 1
          return Load.send(service, relayer, slot, {}, Chain.requestOf(slot))
        })

      const before = yield* Effect.gen(function* () {
        const service = yield* world.listen(Opening.env)
        const policies = { timeout_seconds: validity }
        const [one, other] = yield* Opening.relayersOn(service, chain, { count: 2, channels, policies })
        if (one === undefined || other === undefined) return yield* Effect.die(new Error("there are no relayers"))
        const done = [...(yield* sendAll(service, one, channels)), ...(yield* sendAll(service, other, 1))]
        yield* become(service, "confirmed", done)

        chain.network.isRunning = false
        const flying = [...(yield* sendAll(service, one, channels)), ...(yield* sendAll(service, other, 1))]
        yield* become(service, "submitted", flying)
        const executed = yield* sendAll(service, one, behind)
        const open = [...(yield* sendAll(service, other, behind)), ...(yield* sendAll(service, one, canceled))]
        yield* backup
        for (const { id } of open.slice(behind)) {
          yield* service.call(`/api/v1/relayers/${one.id}/transactions/${id}`, { method: "DELETE" })
        }
        yield* service.call(`/api/v1/relayers/${other.id}`, { method: "PATCH", body: { paused: true } })

        chain.network.isRunning = true
        const lost = yield* sendAll(service, one, amount(forgotten, channels))
        yield* become(service, "confirmed", [...flying, ...executed, ...lost], patience)
        yield* become(service, "canceled", open.slice(behind))
        yield* Service.stop(service)
        return { relayers: [one, other], done, flying, executed, open, lost }
      }).pipe(Effect.scoped)

      const { relayers, done, executed, flying, lost, open } = before
      yield* restore
      const service = yield* world.listen(Opening.env)
      const early = yield* Effect.forEach(open, (one) => answer(service, one, "send"))
      const allowed = early.find(({ status }) => status !== 409)
      tally.expect(allowed === undefined, `an early send is 409: ${allowed?.status} ${allowed?.text}`)
      const sent = yield* Effect.forEach(relayers, (relayer) => sendAll(service, relayer, fresh))
      yield* become(service, "confirmed", [...flying, ...sent.flat()], patience)
      const held = yield* Effect.forEach([...executed, ...open], (one) => Verdict.shown(service, one))
      const other = held.find(({ status, code }) => status !== "pending" || code !== "restored_unproven")
      tally.expect(other === undefined, `what has no bytes waits for an operator: ${JSON.stringify(other)}`)

      for (const one of executed) {
        const { status, text } = yield* answer(service, one, "give_up")
        tally.expect(status === 200, `give_up is possible at once: ${text}`)
      }
      yield* become(service, "failed", executed)
      for (const one of open) {
        yield* until(
          "a send that is allowed",
          Effect.map(answer(service, one, "send"), ({ status }) => (status === 200 ? true : undefined)).pipe(
            Effect.delay("1 second")
          ),
          patience
        )
      }
      yield* become(service, "confirmed", open, patience)
      yield* Verdict.settled(service)
      const all = [...done, ...flying, ...executed, ...open, ...lost, ...sent.flat()]
      const counts = Chain.countIn(chain)
      const wrong = all.filter((one) => counts.get(one.slot) !== 1)
      tally.expect(
        wrong.length === 0,
        `each payment is made once: not those of the slots ${wrong.map((one) => one.slot)}`
      )
      tally.expect(counts.size === all.length, `the ledgers have ${all.length} payments: ${counts.size}`)
      tally.set("with bytes at the backup", flying.length)
      tally.set("without bytes at the backup", held.length)
      tally.set("sent after the backup", lost.length)
      const byChannel = yield* Effect.forEach(open.slice(behind), (one) => Verdict.shown(service, one))
      const without = byChannel.find(({ channel_account }) => channel_account === undefined)
      tally.expect(without === undefined, `what an operator sends uses the channels: ${JSON.stringify(without)}`)
      tally.set("early sends refused", early.filter(({ status }) => status === 409).length)
    })
}
