// From decisions to signatures of the attempts that a commit stores.
import { Clock, Effect } from "effect"
import type { Attempt } from "../../domain/transaction/Attempt.ts"
import type { Sign } from "../../domain/transaction/Command.ts"
import type { Lane } from "../../domain/transaction/Lane.ts"
import type { Moment } from "../../domain/transaction/Moment.ts"
import type { Place } from "../../domain/transaction/Place.ts"
import { newestRequest } from "../../domain/transaction/Transaction.ts"
import type { Transaction } from "../../domain/transaction/Transaction.ts"
import type { Signature } from "../ledger/hold/HeldLane.ts"
import { reach } from "./CrashPoints.ts"
import { inTrace } from "./LaneTraces.ts"
import { noteFailure } from "./LaneSignerRetry.ts"
import type { OpenRow, StepState } from "./StepState.ts"

/**
 * Signatures that a lane makes at the same time. A KMS takes about 150 ms for a signature, so this is about 200 signatures per
 * second and lane.
 */
export const inParallel = 32

/** `transaction`: absent for a filler. */
export const attemptOf = (
  transaction: Transaction | undefined,
  lane: Lane,
  { kind, offer, maxFee }: Pick<Sign, "kind" | "offer" | "maxFee">,
  at: { readonly place: Place; readonly hash: string; readonly now: Moment }
): Attempt => ({
  ordinal: (transaction?.attempts.at(-1)?.ordinal ?? 0) + 1,
  kind,
  generation: lane.generation,
  requestVersion: transaction?.versions.length ?? 1,
  hash: at.hash,
  place: at.place,
  offer,
  maxFee,
  signedAt: at.now,
  sends: 0,
  outcome: "unknown"
})

/** A signature that is due: of a row, at a place. */
export interface DueSignature {
  readonly row: OpenRow
  readonly place: Place
  readonly command: Sign
}

const signOne = Effect.fnUntraced(function* (step: StepState, { row, place, command }: DueSignature) {
  const { stored, relayer, transaction } = row
  const request = command.kind === "noop" ? undefined : newestRequest(transaction)
  const unsigned = { lane: step.lane(), relayer, request, place, sign: command }
  const { hash, raw, offer = command.offer } = yield* step.context.chain.sign(unsigned)
  const now = yield* Clock.currentTimeMillis
  const signature: Signature = {
    stored,
    attempt: attemptOf(transaction, step.lane(), { ...command, offer }, { place, hash, now }),
    raw,
    cause: command.cause,
    feeLimits: step.budget.limitsOf(stored)
  }
  return signature
})

/** Signs in parallel, and keeps the signatures before the first failure. After a failure, no later signature is begun. */
const signPrefix = Effect.fnUntraced(function* (step: StepState, due: ReadonlyArray<DueSignature>) {
  let end = due.length
  const results = yield* Effect.forEach(
    due,
    (one, index) =>
      Effect.suspend(() => {
        if (index > end) return Effect.undefined
        const signed = inTrace("transaction.sign", one.row.stored)(signOne(step, one))
        const failed = Effect.sync(() => void (end = Math.min(end, index)))
        return Effect.result(Effect.tapError(signed, () => failed))
      }),
    { concurrency: inParallel }
  )
  const signed = results.slice(0, end).flatMap((result) => (result?._tag === "Success" ? [result.success] : []))
  const last = results[end]
  return { signed, failure: last?._tag === "Failure" ? last.failure : undefined }
})

/** If the signer failed last time, it is asked for one signature before it is asked for the others. */
const signNext = Effect.fnUntraced(function* (step: StepState, due: ReadonlyArray<DueSignature>) {
  if (step.context.memory.signerFailures === 0) return yield* signPrefix(step, due)
  const first = yield* signPrefix(step, due.slice(0, 1))
  if (first.failure !== undefined) return first
  const others = yield* signPrefix(step, due.slice(1))
  return { ...others, signed: [...first.signed, ...others.signed] }
})

/**
 * Returns the signatures to commit: those before the first failure, because a place without bytes would hold all later ones.
 * It holds no connection to the database.
 */
export const sign = Effect.fn("LaneSigning.sign")(function* (step: StepState, due: ReadonlyArray<DueSignature>) {
  const { signed, failure } = yield* signNext(step, due)
  if (failure !== undefined) yield* noteFailure(step, failure)
  // A step without anything to sign says nothing about the signer.
  else if (signed.length > 0) step.context.memory.signerFailures = 0
  yield* reach("signed")
  return signed
})
