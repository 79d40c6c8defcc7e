// The proof that a transaction which is not an attempt of the row used its nonce. Only then may the request get another nonce.
import { currentAttempts } from "../Transaction.ts"
import type { Transaction } from "../Transaction.ts"
import { nonceOf } from "./Evm.ts"
import type { Evm, Request } from "./Evm.ts"
import { isAgreed } from "./View.ts"
import type { SecondOpinion, Seen } from "./View.ts"

/** What a transaction does, to compare it with requests. `to` in lower case. */
export interface Effect {
  readonly to?: string
  readonly value: bigint
  readonly data: string
}

/** One provider's batch: everything in it belongs to the block at the final height. */
export interface SilentBatch {
  readonly count: number
  /** Hashes for which both the receipt and the transaction were null. */
  readonly absent: ReadonlySet<string>
}

export type TakerEvidence =
  /** The transaction was fetched. */
  | {
      readonly _tag: "Fetched"
      readonly hash: string
      readonly sender: string
      readonly nonce: number
      readonly effect: Effect
      readonly block: number
      readonly blockHash: string
      /** What a second provider says of that height. Absent: unknown. */
      readonly second?: SecondOpinion
    }
  /** The providers have neither a method that finds it nor the state to search for it. */
  | { readonly _tag: "Silent"; readonly first: SilentBatch; readonly second?: SilentBatch }
  | { readonly _tag: "NotFound" }

export type Verdict =
  /** `taker`: absent if it could not be fetched. */
  | { readonly _tag: "Taken"; readonly hash?: string; readonly effect?: Effect }
  /** An attempt of this transaction used the nonce: the provider does not have its receipt yet. */
  | { readonly _tag: "Own"; readonly block: number }
  /** Used, but not yet deep enough to be final. */
  | { readonly _tag: "NotDeep" }
  | { readonly _tag: "Unproven" }

type Fetched = Extract<TakerEvidence, { readonly _tag: "Fetched" }>

const ofFetched = (transaction: Transaction<Evm>, address: string, view: Seen, taker: Fetched): Verdict => {
  if (currentAttempts(transaction).some(({ hash }) => hash === taker.hash)) return { _tag: "Own", block: taker.block }
  if (taker.sender !== address || taker.nonce !== nonceOf(transaction)) return { _tag: "Unproven" }
  if (taker.block > view.finalHeight) return { _tag: "NotDeep" }
  return isAgreed(taker.second, taker.block, taker.blockHash)
    ? { _tag: "Taken", hash: taker.hash, effect: taker.effect }
    : { _tag: "Unproven" }
}

/** Two providers, each with a count above the nonce and without any of the attempts, in one batch each. */
const ofSilence = (transaction: Transaction<Evm>, batches: ReadonlyArray<SilentBatch | undefined>): Verdict => {
  const hashes = currentAttempts(transaction).map(({ hash }) => hash)
  const isSilent = (batch: SilentBatch | undefined) =>
    batch !== undefined && batch.count > (nonceOf(transaction) ?? 0) && hashes.every((hash) => batch.absent.has(hash))
  return { _tag: batches.every(isSilent) ? "Taken" : "Unproven" }
}

/** `address`: of the lane, in lower case. */
export const verdictOf = (transaction: Transaction<Evm>, address: string, view: Seen): Verdict => {
  const { taker } = view
  switch (taker?._tag) {
    case undefined:
    case "NotFound":
      return { _tag: "Unproven" }
    case "Fetched":
      return ofFetched(transaction, address, view, taker)
    case "Silent":
      return ofSilence(transaction, [taker.first, taker.second])
  }
}

/** Whether a transaction that is not an attempt of the row could be one that the ledger has lost. */
export const couldBe = ({ versions }: Transaction<Evm>, effect: Effect | undefined): boolean =>
  effect === undefined || versions.some((request) => hasEffect(request, effect))

const hasEffect = ({ to, value, data = "0x" }: Request, effect: Effect): boolean =>
  to?.toLowerCase() === effect.to && value === effect.value && data.toLowerCase() === effect.data
