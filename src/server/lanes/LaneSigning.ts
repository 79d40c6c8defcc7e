// From decisions to signatures: what is signed for a request, for a no-op and for a gap.
import { Clock, Effect } from "effect"
import type { Attempt } from "../../domain/transaction/Attempt.ts"
import type { Command } from "../../domain/transaction/Command.ts"
import { withRollupFee } from "../../domain/transaction/Funds.ts"
import type { Lane } from "../../domain/transaction/Lane.ts"
import { newestRequest } from "../../domain/transaction/Transaction.ts"
import type { Transaction } from "../../domain/transaction/Transaction.ts"
import type { Unsigned } from "../chains/evm/EvmBytes.ts"
import type { Signature } from "../ledger/HeldLane.ts"
import type { StoredTransaction } from "../ledger/StoredTransaction.ts"
import { reach } from "./CrashPoints.ts"
import type { Work } from "./LaneContext.ts"
import { inTrace } from "./LaneTraces.ts"
import { noteFailure } from "./LaneSignerRetry.ts"
import type { LaneRelayer } from "./LaneRelayers.ts"

export type Sign = Extract<Command, { readonly _tag: "Sign" }>

/**
 * Signatures that a lane makes at the same time. A KMS takes about 150 ms for a signature, so this is about 200 signatures per
 * second and lane.
 */
export const inParallel = 32

/** A no-op sends nothing to the account itself. */
export const unsignedOf = (
  { chainId }: LaneRelayer["numbers"],
  address: string,
  transaction: Transaction | undefined,
  { kind, fees, gasLimit }: Pick<Sign, "kind" | "fees" | "gasLimit">,
  nonce: number
): Unsigned => {
  const common = { chainId, nonce, fees, gasLimit }
  if (kind === "noop" || transaction === undefined) return { ...common, to: address, value: 0n }
  const { to, value, data } = newestRequest(transaction)
  return { ...common, value, ...(to === undefined ? {} : { to }), ...(data === undefined ? {} : { data }) }
}

export const attemptOf = (
  transaction: Transaction | undefined,
  lane: Lane,
  { kind, fees, gasLimit, rollupFee }: Pick<Sign, "kind" | "fees" | "gasLimit" | "rollupFee">,
  at: { readonly nonce: number; readonly hash: string; readonly now: number }
): Attempt => ({
  ordinal: (transaction?.attempts.at(-1)?.ordinal ?? 0) + 1,
  kind,
  generation: lane.generation,
  requestVersion: transaction?.versions.length ?? 1,
  hash: at.hash,
  nonce: at.nonce,
  fees,
  gasLimit,
  ...withRollupFee(rollupFee),
  signedAt: at.now,
  sends: 0,
  outcome: "unknown"
})

export interface Wanted {
  readonly stored: StoredTransaction
  readonly relayer: LaneRelayer
  readonly nonce: number
  readonly command: Sign
}

const signOne = Effect.fnUntraced(function* ({ context, lane, budget }: Work, wanted: Wanted) {
  const { stored, relayer, nonce, command } = wanted
  const unsigned = unsignedOf(relayer.numbers, lane.address, stored.transaction, command, nonce)
  const { hash, raw } = yield* context.signer.sign(relayer.signerId, unsigned)
  const now = yield* Clock.currentTimeMillis
  const signature: Signature = {
    stored,
    attempt: attemptOf(stored.transaction, lane, command, { nonce, hash, now }),
    raw,
    cause: command.cause,
    feeLimits: budget.limitsOf(stored)
  }
  return signature
})

/** Signs in parallel, and keeps the signatures before the first failure. After a failure, no later signature is begun. */
const signPrefix = Effect.fnUntraced(function* (work: Work, wanted: ReadonlyArray<Wanted>) {
  let end = wanted.length
  const results = yield* Effect.forEach(
    wanted,
    (one, index) =>
      Effect.suspend(() => {
        if (index > end) return Effect.undefined
        const signed = inTrace("transaction.sign", one.stored)(signOne(work, one))
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
const signNext = Effect.fnUntraced(function* (work: Work, wanted: ReadonlyArray<Wanted>) {
  if (work.context.memory.signerFailures === 0) return yield* signPrefix(work, wanted)
  const first = yield* signPrefix(work, wanted.slice(0, 1))
  if (first.failure !== undefined) return first
  const others = yield* signPrefix(work, wanted.slice(1))
  return { ...others, signed: [...first.signed, ...others.signed] }
})

/**
 * Returns the signatures to commit: those before the first failure, because a nonce without bytes would hold all later ones.
 * It holds no connection to the database.
 */
export const sign = Effect.fn("LaneSigning.sign")(function* (work: Work, wanted: ReadonlyArray<Wanted>) {
  const { signed, failure } = yield* signNext(work, wanted)
  if (failure !== undefined) yield* noteFailure(work, failure)
  // A step without anything to sign says nothing about the signer.
  else if (signed.length > 0) work.context.memory.signerFailures = 0
  yield* reach("signed")
  return signed
})
