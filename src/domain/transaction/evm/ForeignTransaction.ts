// The proof that a transaction which is not an attempt of the row used its nonce. Only then may the request get another nonce.
import { currentAttempts } from "../Transaction.ts"
import type { Transaction } from "../Transaction.ts"
import { attemptNonceOf, nonceOf } from "./Evm.ts"
import type { Evm, Request } from "./Evm.ts"
import { isAgreed } from "./View.ts"
import type { ForeignCall, Seen, SilentBatch, TakerEvidence } from "./View.ts"

export type Verdict =
  /** `taker`: absent if it could not be fetched. */
  | { readonly _tag: "Taken"; readonly hash?: string; readonly call?: ForeignCall }
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
    ? { _tag: "Taken", hash: taker.hash, call: taker.call }
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
export const couldBe = (transaction: Transaction<Evm>, call: ForeignCall | undefined): boolean =>
  call === undefined ||
  transaction.versions.some((request) => matches(request, call)) ||
  (call.isNoop === true && hasHad(transaction, call.nonce))

/** A no-op that the ledger has forgotten may have ended it. */
const hasHad = (transaction: Transaction<Evm>, nonce: number | undefined): boolean =>
  nonce !== undefined &&
  (nonceOf(transaction) === nonce || transaction.attempts.some((attempt) => attemptNonceOf(attempt) === nonce))

const matches = ({ to, value, data = "0x" }: Request, call: ForeignCall): boolean =>
  to?.toLowerCase() === call.to && value === call.value && data.toLowerCase() === call.data
