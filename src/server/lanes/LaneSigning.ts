// From decisions to signatures: what is signed for a request, for a no-op and for a gap.
import { Clock, Effect } from "effect"
import type { Attempt } from "../../domain/transaction/Attempt.ts"
import type { Command } from "../../domain/transaction/Command.ts"
import type { Lane } from "../../domain/transaction/Lane.ts"
import { newestRequest } from "../../domain/transaction/Transaction.ts"
import type { Transaction } from "../../domain/transaction/Transaction.ts"
import type { Unsigned } from "../chains/evm/EvmBytes.ts"
import type { Signature } from "../ledger/HeldLane.ts"
import type { StoredTransaction } from "../ledger/StoredTransaction.ts"
import { reach } from "./CrashPoints.ts"
import type { Work } from "./LaneContext.ts"
import { inTrace } from "./LaneTraces.ts"
import type { SigningFailed } from "./LaneSigner.ts"
import type { LaneRelayer } from "./LaneRelayers.ts"

export type Sign = Extract<Command, { readonly _tag: "Sign" }>

/** Milliseconds until a signer that failed is asked again: doubles up to a minute. */
const firstRetry = 1000
const longestRetry = 60_000

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
  { kind, fees, gasLimit }: Pick<Sign, "kind" | "fees" | "gasLimit">,
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

/** One warning per episode, which ends with a signature. */
export const noteFailure = Effect.fnUntraced(function* ({ context }: Work, { code, message }: SigningFailed) {
  const { memory, hold } = context
  const failures = memory.signerFailures++
  memory.signerRetry = {
    code,
    at: (yield* Clock.currentTimeMillis) + Math.min(firstRetry * 2 ** failures, longestRetry)
  }
  if (failures > 0) return
  yield* Effect.annotateLogs(Effect.logWarning("transactions of a lane cannot be signed"), {
    lane_id: hold.laneId,
    reason: message
  })
})

/** The longest prefix that could be signed: a nonce without bytes would hold all later ones. */
export const sign = Effect.fn("LaneSigning.sign")(function* (work: Work, wanted: ReadonlyArray<Wanted>) {
  const { memory } = work.context
  const results = yield* Effect.forEach(
    wanted,
    (one) => Effect.result(inTrace("transaction.sign", one.stored)(signOne(work, one))),
    { concurrency: 8 }
  )
  const signed: Array<Signature> = []
  for (const result of results) {
    if (result._tag === "Failure") {
      yield* noteFailure(work, result.failure)
      break
    }
    signed.push(result.success)
  }
  // A step without anything to sign says nothing about the signer.
  if (signed.length > 0 && signed.length === wanted.length) memory.signerFailures = 0
  yield* reach("signed")
  return signed
})
