// The proof that a transaction which is not an attempt of the row used its nonce. Only then may the request get another nonce.
import { currentAttempts } from "../Transaction.ts"
import type { Transaction } from "../Transaction.ts"
import type { Moment } from "../TransactionValues.ts"
import { attemptNonceOf, nonceOf } from "./Evm.ts"
import type { Evm, Request } from "./Evm.ts"
import { isAgreed } from "./View.ts"
import type { ForeignCall, Seen, TakerEvidence } from "./View.ts"

export type Verdict =
  /** `hash` and `call` are absent if an authorization of the account used the nonce. */
  | { readonly _tag: "Taken"; readonly hash?: string; readonly call?: ForeignCall }
  /** An attempt of this transaction used the nonce: the provider does not have its receipt yet. */
  | { readonly _tag: "Own"; readonly block: number }
  /** Used, but not yet deep enough to be final. */
  | { readonly _tag: "NotDeep" }
  /** The provider does not show yet what is in its blocks. */
  | { readonly _tag: "Behind"; readonly since: Moment }
  | { readonly _tag: "Unproven" }

type Fetched = Extract<TakerEvidence, { readonly _tag: "Fetched" }>

const ofFetched = (transaction: Transaction<Evm>, address: string, view: Seen, taker: Fetched): Verdict => {
  if (currentAttempts(transaction).some(({ hash }) => hash === taker.hash)) return { _tag: "Own", block: taker.block }
  if (taker.sender !== address || taker.nonce !== nonceOf(transaction)) return { _tag: "Unproven" }
  return inBlock(view, taker, { _tag: "Taken", hash: taker.hash, call: taker.call })
}

/** `taken`, if the block is final for both providers. */
const inBlock = (
  view: Seen,
  { block, blockHash, second }: Pick<Fetched, "block" | "blockHash" | "second">,
  taken: Verdict
): Verdict => {
  if (block > view.finalHeight) return { _tag: "NotDeep" }
  return isAgreed(second, block, blockHash) ? taken : { _tag: "Unproven" }
}

/** `address`: of the lane, in lower case. Only what a block shows proves anything: that nothing is found never does. */
export const verdictOf = (transaction: Transaction<Evm>, address: string, view: Seen, now: Moment): Verdict => {
  const { taker } = view
  switch (taker?._tag) {
    case undefined:
    case "NotFound":
      return { _tag: "Unproven" }
    case "Fetched":
      return ofFetched(transaction, address, view, taker)
    case "Authorized":
      return inBlock(view, taker, { _tag: "Taken" })
    case "Behind":
      return { _tag: "Behind", since: taker.since ?? now }
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
