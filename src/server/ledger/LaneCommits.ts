// Commits signatures of a held lane: a nonce and its bytes are there together, or not at all.
import { Clock, Effect } from "effect"
import type { Array } from "effect"
import type { Moment } from "../../domain/transaction/Moment.ts"
import { withAttempt } from "../../domain/transaction/Transition.ts"
import { AttemptsRepo } from "./AttemptsRepo.ts"
import * as FeeLimits from "./FeeLimits.ts"
import { GapsRepo } from "./GapsRepo.ts"
import { LaneChanged } from "./HeldLane.ts"
import type { GapSignature, Signature } from "./HeldLane.ts"
import type { Shared } from "./LaneFence.ts"
import type { Assignment } from "./LanesRepo.ts"
import type { Hold } from "./StoredLane.ts"
import type { StoredTransaction } from "./StoredTransaction.ts"
import { TransactionsRepo } from "./TransactionsRepo.ts"
import * as Writing from "./Writing.ts"

/** The nonces that these signatures take from the lane. Undefined: none. Dies if they are not consecutive. */
const assignmentOf = (signatures: ReadonlyArray<Signature>): Assignment | undefined => {
  const originals = signatures.filter(({ stored }) => stored.transaction.state === "pending")
  const [first] = originals
  if (first === undefined) return undefined
  const { nonce: from, generation } = first.attempt
  originals.forEach(({ attempt }, index) => {
    if (attempt.nonce !== from + index || attempt.generation !== generation) {
      throw new Error(`nonces of a commit are consecutive: ${attempt.nonce} is not ${from + index}`)
    }
  })
  return { from, count: originals.length, generation }
}

export const make = Effect.fnUntraced(function* ({ memory, fence }: Shared) {
  const transactions = yield* TransactionsRepo
  const attempts = yield* AttemptsRepo
  const gapRows = yield* GapsRepo
  const { spend } = yield* FeeLimits.make
  const { writeUnchanged } = yield* Writing.make

  /** Another lane, or an acceptance, may have used what was left when the fees were decided. */
  const spendOn = (hold: Hold, signatures: ReadonlyArray<Signature>, now: Moment) =>
    Effect.mapError(spend(FeeLimits.spendingsOf(signatures, now), now), () => new LaneChanged({ laneId: hold.laneId }))

  const writeSignatures = Effect.fnUntraced(function* (
    hold: Hold,
    signatures: Array.NonEmptyReadonlyArray<Signature>,
    now: Moment
  ) {
    yield* spendOn(hold, signatures, now)
    const written = yield* writeUnchanged(
      signatures.map(({ stored, attempt, cause }) => ({
        before: stored,
        after: withAttempt(stored.transaction, attempt, cause, now)
      })),
      now
    )
    if (written.length < signatures.length) return yield* new LaneChanged({ laneId: hold.laneId })
    yield* attempts.insert(
      signatures.map(({ stored, attempt, raw }) => ({ id: stored.id, attempt, raw, epoch: hold.epoch }))
    )
    return written
  })

  const commitSignatures = Effect.fn("LaneLedger.commitSignatures")(function* (
    hold: Hold,
    signatures: Array.NonEmptyReadonlyArray<Signature>
  ) {
    const writes = writeSignatures(hold, signatures, yield* Clock.currentTimeMillis)
    const assignment = assignmentOf(signatures)
    const written = yield* assignment === undefined
      ? fence.held(hold, writes)
      : fence.assigning(hold, assignment, writes)
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
        yield* attempts.insert(gaps.map(({ id, attempt, raw }) => ({ id, attempt, raw, epoch: hold.epoch })))
        return yield* transactions.find(gaps.map(({ id }) => id))
      })
    )
    memory.update(hold, written)
    return written
  })

  return { commitSignatures, commitGaps }
})
