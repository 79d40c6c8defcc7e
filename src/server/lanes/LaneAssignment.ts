// Gives nonces to pending transactions: checks, signatures, one commit, then the broadcast.
import { Effect } from "effect"
import { isReadonlyArrayNonEmpty } from "effect/Array"
import { maxNoncesPerCommit } from "../../domain/transaction/Numbers.ts"
import { byPlace, plan } from "../../domain/transaction/Queue.ts"
import type { Candidate } from "../../domain/transaction/Queue.ts"
import type { Transaction } from "../../domain/transaction/Transaction.ts"
import type { View } from "../../domain/transaction/View.ts"
import type { StoredTransaction } from "../ledger/StoredTransaction.ts"
import { reach } from "./CrashPoints.ts"
import { baseOf, termsIn, totals, update } from "./LaneContext.ts"
import type { Work } from "./LaneContext.ts"
import { applyChanges } from "./LaneDecisions.ts"
import * as Estimates from "./LaneEstimates.ts"
import { withEstimated } from "./LaneEstimates.ts"
import * as Metrics from "./LaneMetrics.ts"
import type { LaneRelayer } from "./LaneRelayers.ts"
import { send } from "./LaneSending.ts"
import { sign } from "./LaneSigning.ts"

interface Pending {
  readonly stored: StoredTransaction
  readonly relayer: LaneRelayer
}

/** Whether nothing of the ledger holds it back, so that the chain decides. */
const isReady = ({ stored: { transaction }, relayer }: Pending, now: number): boolean =>
  !relayer.isPaused &&
  relayer.disabled === undefined &&
  !transaction.restored &&
  transaction.intent === "execute" &&
  (transaction.notBefore ?? now) <= now

/** Estimates for as many as can get a nonce now. Those behind them wait without one. */
const estimates = Effect.fnUntraced(function* (work: Work, pending: ReadonlyArray<Pending>) {
  const free = work.lane.windowSize - totals(work).inFlight
  const isDue = (one: Pending) => isReady(one, work.now) && Estimates.isDue(work, one.relayer, one.stored.transaction)
  const due = free <= 0 || work.stop !== undefined ? [] : pending.filter(isDue)
  const first = due
    .toSorted((one, other) => byPlace(one.stored.transaction, other.stored.transaction))
    .slice(0, Math.min(free, maxNoncesPerCommit))
  const found = yield* Effect.forEach(first, (one) => Estimates.of(work, one.relayer, one.stored.transaction), {
    concurrency: "unbounded"
  })
  const known = new Map(first.map(({ stored }, index) => [stored.id, found[index]]))
  return { known, waiting: new Set(due.filter(({ stored }) => !known.has(stored.id)).map(({ stored }) => stored.id)) }
})

/** Nothing of a relayer overtakes an earlier transaction of it that waits for its estimate. */
const withoutWaiting = (pending: ReadonlyArray<Pending>, waiting: ReadonlySet<string>): ReadonlyArray<Pending> => {
  const held = new Set<string>()
  return pending
    .toSorted((one, other) => byPlace(one.stored.transaction, other.stored.transaction))
    .filter(({ stored: { id, relayerId } }) => {
      if (waiting.has(id)) held.add(relayerId)
      return !held.has(relayerId)
    })
}

const commit = Effect.fnUntraced(function* (
  work: Work,
  pending: ReadonlyMap<number, Pending>,
  signings: ReturnType<typeof plan>["signings"]
) {
  const wanted = signings.flatMap(({ transaction, nonce, sign }) => {
    const found = pending.get(transaction.number)
    return found === undefined ? [] : [{ ...found, nonce, command: sign }]
  })
  const signed = yield* sign(work, wanted)
  if (!isReadonlyArrayNonEmpty(signed)) return 0
  const committed = yield* work.context.ledger.commitSignatures(work.context.hold, signed)
  yield* reach("committed")
  update(work, committed)
  work.context.memory.lastSignedAt = work.now
  yield* Metrics.countSignatures(signed)
  const raw = new Map(signed.map((signature) => [signature.stored.id, signature.raw]))
  const sendings = committed.flatMap((stored) => {
    const relayer = pending.get(stored.transaction.number)?.relayer
    const newest = stored.transaction.attempts.at(-1)
    return relayer === undefined || newest === undefined ? [] : [{ stored, relayer, ordinals: [newest.ordinal] }]
  })
  yield* send(work, sendings, ({ id }) => raw.get(id))
  yield* Metrics.measureFirstSends(sendings.map(({ stored }) => stored))
  return signed.length
})

/** Returns how many got a nonce: if these are as many as one commit takes, there may be more. */
export const assign = Effect.fn("LaneAssignment.assign")(function* (
  work: Work,
  lead: LaneRelayer,
  viewOf: (transaction: Transaction, relayer: LaneRelayer) => View
) {
  const all = [...work.rows.values()].flatMap((stored): ReadonlyArray<Pending> => {
    const relayer = work.relayers.get(stored.relayerId)
    return relayer === undefined || stored.transaction.state !== "pending" ? [] : [{ stored, relayer }]
  })
  if (all.length === 0) return 0
  const { known, waiting } = yield* estimates(work, all)
  const candidates = withoutWaiting(all, waiting).map(({ stored, relayer }): Candidate => ({
    transaction: stored.transaction,
    terms: termsIn(work, relayer, stored),
    view: withEstimated(viewOf(stored.transaction, relayer), known.get(stored.id))
  }))
  const planned = plan(candidates, baseOf(work, lead), totals(work), work.now, maxNoncesPerCommit)
  const pending = new Map(all.map((one) => [one.stored.transaction.number, one]))
  const judged = planned.decided.flatMap(({ transaction, commands }) => {
    const found = pending.get(transaction.number)
    return found === undefined ? [] : [{ ...found, commands }]
  })
  yield* applyChanges(work, judged)
  for (const { commands } of judged) {
    for (const command of commands) {
      if (command._tag === "PollAt") work.nextPollAt = Math.min(work.nextPollAt, command.at)
    }
  }
  return yield* commit(work, pending, planned.signings)
})
