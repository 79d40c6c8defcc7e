// Commits signatures of a held lane: a place and its bytes are there together, or not at all.
import { Clock, Effect } from "effect"
import type { Array } from "effect"
import type { Moment } from "../../../domain/transaction/Moment.ts"
import { apply, withAttempt } from "../../../domain/transaction/Transition.ts"
import * as AttemptsRepo from "../write/AttemptsRepo.ts"
import * as FeeLimits from "../accept/FeeLimits.ts"
import * as FillersRepo from "./FillersRepo.ts"
import { LaneChanged } from "./HeldLane.ts"
import type { GapSignature, Signature } from "./HeldLane.ts"
import type { Shared } from "./LaneFence.ts"
import type { Assignment, Assignments } from "./LanesRepo.ts"
import { LedgerRules } from "../LedgerRules.ts"
import type { Hold } from "../StoredLane.ts"
import type { StoredTransaction } from "../StoredTransaction.ts"
import * as TransactionsRepo from "../write/TransactionsRepo.ts"
import type { Gate } from "../write/TransactionsRepo.ts"
import * as Writing from "../write/Writing.ts"

/** Sequences of one account that these signatures take. Dies if they are not consecutive. */
const assignmentOf = (account: string, sequences: ReadonlyArray<bigint>): Assignment => {
  const [from = 0n] = sequences
  sequences.forEach((sequence, index) => {
    if (sequence !== from + BigInt(index)) {
      throw new Error(`sequences of a commit are consecutive: ${sequence} is not ${from + BigInt(index)}`)
    }
  })
  return { account, from, count: BigInt(sequences.length) }
}

/** The sequences that these signatures take from accounts of the lane. Undefined: none. */
export const assignmentsOf = (signatures: ReadonlyArray<Signature>): Assignments | undefined => {
  const originals = signatures.filter(({ stored }) => stored.transaction.state === "pending")
  const [first] = originals
  if (first === undefined) return undefined
  const taken = new Map<string, Array<bigint>>()
  for (const { attempt } of originals) {
    const { account, sequence } = attempt.place
    if (sequence !== undefined) taken.set(account, [...(taken.get(account) ?? []), sequence])
  }
  const all = [...taken].map(([account, sequences]) => assignmentOf(account, sequences))
  const { from } = first.stored
  return {
    generation: first.attempt.generation,
    own: all.find(({ account }) => account === from),
    channels: all.filter(({ account }) => account !== from)
  }
}

export const make = Effect.fnUntraced(function* ({ memory, fence }: Shared) {
  const transactions = yield* TransactionsRepo.make
  const attempts = yield* AttemptsRepo.make
  const gapRows = yield* FillersRepo.make
  const networks = yield* LedgerRules
  const { spend } = yield* FeeLimits.make
  const { writeSigned, writeUnchanged } = yield* Writing.make

  /**
   * What runs after the lane is locked and before the writes. Since the decision, another lane or an acceptance may have used the rest
   * of the limits, and a caller may have got a signature of this commit. Undefined: neither matters, so one statement locks and writes.
   */
  const beforeWrites = (hold: Hold, signatures: ReadonlyArray<Signature>, now: Moment) => {
    const spendings = FeeLimits.spendingsOf(signatures, now)
    if (spendings.length > 0)
      return Effect.mapError(spend(spendings, now), () => new LaneChanged({ laneId: hold.laneId }))
    return signatures.some(({ stored }) => attempts.canRepeat(stored.chain)) ? Effect.void : undefined
  }

  const writeSignatures = Effect.fnUntraced(function* (
    hold: Hold,
    signatures: Array.NonEmptyReadonlyArray<Signature>,
    now: Moment,
    gate: Gate | undefined
  ) {
    const written = yield* writeSigned(
      signatures.map(({ stored, attempt, cause }) => ({
        before: stored,
        after: withAttempt(stored.transaction, attempt, cause, now)
      })),
      now,
      signatures.map(({ stored: { id, chain, from }, attempt, raw }) => ({
        id,
        chain,
        address: from,
        attempt,
        raw,
        epoch: hold.epoch
      })),
      gate
    )
    if (written.length < signatures.length) return yield* new LaneChanged({ laneId: hold.laneId })
    return written
  })

  /** The bytes of one of them are those of another transaction: it ends if they cannot be varied. */
  const refuseRepeated = Effect.fnUntraced(function* (
    hold: Hold,
    signatures: Array.NonEmptyReadonlyArray<Signature>,
    now: Moment
  ) {
    const known = yield* attempts.own(
      hold.laneId,
      signatures.map(({ attempt }) => attempt.hash)
    )
    const changes = signatures.flatMap(({ stored, attempt }) => {
      const end = known.has(attempt.hash) ? networks.of(stored.chain).rules.repeated?.(stored.transaction) : undefined
      return end === undefined ? [] : [{ before: stored, after: apply(stored.transaction, end, now) }]
    })
    memory.update(hold, yield* fence.held(hold, writeUnchanged(changes, now)))
    return yield* new LaneChanged({ laneId: hold.laneId })
  })

  const commitSignatures = Effect.fn("LaneLedger.commitSignatures")(function* (
    hold: Hold,
    signatures: Array.NonEmptyReadonlyArray<Signature>
  ) {
    const now = yield* Clock.currentTimeMillis
    const commit = fence.assigning(
      hold,
      assignmentsOf(signatures),
      (gate) => writeSignatures(hold, signatures, now, gate),
      beforeWrites(hold, signatures, now)
    )
    const written = yield* Effect.catchTag(commit, "SignatureTaken", () => refuseRepeated(hold, signatures, now))
    memory.update(hold, written)
    return written
  })

  const commitGaps = Effect.fn("LaneLedger.commitGaps")(function* (
    hold: Hold,
    owner: StoredTransaction,
    gaps: Array.NonEmptyReadonlyArray<GapSignature>
  ) {
    const now = yield* Clock.currentTimeMillis
    const written = yield* fence.held(
      hold,
      Effect.gen(function* () {
        yield* gapRows.insert(hold.laneId, owner, gaps, now)
        yield* attempts
          .insert(
            gaps.map(({ id, attempt, raw }) => ({
              id,
              chain: owner.chain,
              address: owner.from,
              attempt,
              raw,
              epoch: hold.epoch
            }))
          )
          .pipe(Effect.orDie)
        return yield* transactions.find(gaps.map(({ id }) => id))
      })
    )
    memory.update(hold, written)
    return written
  })

  return { commitSignatures, commitGaps }
})
