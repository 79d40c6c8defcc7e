// Gives places to pending transactions: decisions, signatures, one commit, then the broadcast.
import { Effect } from "effect"
import { isReadonlyArrayNonEmpty } from "effect/Array"
import { maxSignaturesPerCommit } from "../../domain/transaction/Numbers.ts"
import { plan } from "../../domain/transaction/Queue.ts"
import type { Candidate, PlannedSignature } from "../../domain/transaction/Queue.ts"
import { reach } from "./CrashPoints.ts"
import { applyChanges, maxQuestions, inquire } from "./LaneDecisions.ts"
import * as Metrics from "./LaneMetrics.ts"
import { send } from "./LaneSending.ts"
import { sign } from "./LaneSigning.ts"
import type { OpenRow, StepState } from "./StepState.ts"

/** What can be signed now, and what is decided about the others. Questions are answered first, all at once. */
const planAll = Effect.fnUntraced(function* (step: StepState, pending: ReadonlyMap<number, OpenRow>) {
  const { rules, memory } = step.context
  const found = new Map<number, unknown>()
  const planNow = () => {
    const candidates = [...pending.keys()].flatMap((number): ReadonlyArray<Candidate> => {
      const row = step.row(number)
      if (row === undefined || row.transaction.state !== "pending") return []
      const view = found.get(number) ?? memory.poll?.seenOf(row, step.now)
      return [
        {
          transaction: row.transaction,
          terms: step.termsOf(row),
          view,
          providers: row.relayer.urlsKey,
          doubt: step.doubtOf(row)
        }
      ]
    })
    return plan(rules, candidates, step.base(), step.totals(), step.now, maxSignaturesPerCommit)
  }
  let planned = planNow()
  for (let round = 0; round < maxQuestions; round++) {
    const inquiries = planned.questions.flatMap(({ transaction, question }) => {
      const row = step.row(transaction.number)
      const seen = found.get(transaction.number) ?? (row && memory.poll?.seenOf(row, step.now))
      return row === undefined ? [] : [{ row, seen, question }]
    })
    if (!isReadonlyArrayNonEmpty(inquiries)) break
    for (const [number, seen] of yield* inquire(step, inquiries)) found.set(number, seen)
    planned = planNow()
  }
  return planned
})

const commit = Effect.fnUntraced(function* (step: StepState, signings: ReadonlyArray<PlannedSignature>) {
  const { context, now } = step
  const due = signings.flatMap(({ transaction, place, sign }) => {
    const row = step.row(transaction.number)
    return row === undefined ? [] : [{ row, place, command: sign }]
  })
  const signed = yield* sign(step, due)
  if (!isReadonlyArrayNonEmpty(signed)) return 0
  const committed = yield* context.ledger.commitSignatures(context.hold, signed)
  yield* reach("committed")
  step.update(committed)
  step.give(signed.map(({ attempt }) => attempt.place))
  context.memory.lastSignedAt = now
  yield* Metrics.countSignatures(signed)
  const raw = new Map(signed.map((signature) => [signature.stored.id, signature.raw]))
  const sendings = committed.flatMap((stored) => {
    const relayer = step.rowOf(stored)?.relayer
    const newest = stored.transaction.attempts.at(-1)
    return relayer === undefined || newest === undefined ? [] : [{ stored, relayer, ordinals: [newest.ordinal] }]
  })
  yield* send(step, sendings, ({ id }) => raw.get(id))
  yield* Metrics.measureFirstSends(sendings.map(({ stored }) => stored))
  return signed.length
})

/** Returns how many got a place: if these are as many as one commit takes, there may be more. */
export const assign = Effect.fn("LaneAssignment.assign")(function* (step: StepState) {
  const pending = new Map(step.pending().map((row) => [row.transaction.number, row]))
  if (pending.size === 0) return 0
  const planned = yield* planAll(step, pending)
  const judged = planned.decided.flatMap(({ transaction, commands }) => {
    const row = step.row(transaction.number)
    return row === undefined ? [] : [{ row, commands }]
  })
  yield* applyChanges(step, judged)
  for (const { commands } of judged) {
    for (const command of commands) if (command._tag === "PollAt") step.wakeAt(command.at)
  }
  return yield* commit(step, planned.signings)
})
