// What the chain shows about the nonces of a lane: which counts are believed, which nonces are unused, and which others used.
// A count that only one provider says once may be wrong, late, or of a fork that dies.
import { currentAttempts } from "../../core/Transaction.ts"
import type { Receipt, Transaction } from "../../core/Transaction.ts"
import type { Moment } from "../../core/TransactionValues.ts"
import { wireOf } from "./Batch.ts"
import { attemptNonceOf, isAgreed, nonceOf } from "./Evm.ts"
import type { Evm, ForeignCall, Nonces, Request, Seen, TakerEvidence } from "./Evm.ts"
import { maxNonce } from "./EvmNumbers.ts"

/** What one poll has seen of a lane. Absent means unknown. */
export interface LaneView {
  readonly head: { readonly number: number; readonly hash: string }
  /** Transactions of the account at the head. */
  readonly count: number
  /** Hash of the block at the height of the lane's `chainBlock`; needed if the count is lower than the known one. */
  readonly hashAtChainBlock?: string
  /** The count of a second provider; needed if the first one's is above `nextNonce` or lower than the known one. */
  readonly secondCount?: number
  /** Whether a transaction of the account was seen at each nonce that is used: its signature is a second source. */
  readonly isExplained?: boolean
}

/** A count that was not believed in an earlier poll, and the head at which it was read. */
export interface CountClaim {
  readonly count: number
  readonly headHash: string
}

export interface FloorStep {
  readonly lane: Nonces
  /** The next poll gets it. */
  readonly claim?: CountClaim
  /** Why the lane assigns no nonces. */
  readonly code?: "nonce_ahead" | "nonce_out_of_range"
  /**
   * `ahead`: other transactions of the account used nonces from the former `nextNonce` on.
   */
  readonly change: "none" | "first" | "progress" | "ahead" | "reorg" | "correction"
}

const unchanged = (lane: Nonces): FloorStep => ({ lane, change: "none" })

/** A second source for a claim: another provider in this poll, or the same one in an earlier poll with another head. */
const otherCount = (view: LaneView, claim: CountClaim | undefined): number | undefined =>
  view.isExplained === true
    ? view.count
    : (view.secondCount ?? (claim !== undefined && claim.headHash !== view.head.hash ? claim.count : undefined))

const countClaimOf = ({ count, head }: LaneView): CountClaim => ({ count, headHash: head.hash })

const raised = (lane: Nonces, view: LaneView, count: number, change: FloorStep["change"]): FloorStep => ({
  lane: { ...lane, chainNonce: count, nextNonce: Math.max(lane.nextNonce, count), chainBlock: view.head },
  change
})

const lowered = (lane: Nonces, view: LaneView, count: number, change: FloorStep["change"]): FloorStep => ({
  lane: {
    ...lane,
    chainNonce: count,
    settledNonce: Math.min(lane.settledNonce, count),
    chainBlock: view.head
  },
  change
})

/** Above every nonce that the lane has assigned: somebody else uses the key, or the answer is wrong. */
const ahead = (lane: Nonces, view: LaneView, claim: CountClaim | undefined, maxJump: number): FloorStep => {
  const other = otherCount(view, claim)
  const count = other === undefined ? lane.nextNonce : Math.min(view.count, other)
  if (count <= lane.nextNonce) return { ...unchanged(lane), claim: countClaimOf(view) }
  if (count - lane.nextNonce > maxJump) return { ...unchanged(lane), claim: countClaimOf(view), code: "nonce_ahead" }
  return raised(lane, view, count, "ahead")
}

/** Lower than believed before: a reorganisation, a provider that lags, or an earlier count that was wrong. */
const behind = (lane: Nonces, view: LaneView, claim: CountClaim | undefined): FloorStep => {
  const { chainBlock } = lane
  if (chainBlock === undefined || view.head.number < chainBlock.number) return unchanged(lane)
  if (view.hashAtChainBlock === undefined) return unchanged(lane)
  if (view.hashAtChainBlock !== chainBlock.hash) return lowered(lane, view, view.count, "reorg")
  const other = otherCount(view, claim)
  const count = other === undefined ? lane.chainNonce : Math.max(view.count, other)
  return count < lane.chainNonce
    ? lowered(lane, view, count, "correction")
    : { ...unchanged(lane), claim: countClaimOf(view) }
}

/**
 * `maxJump`: nonces that others may have used before an operator has to confirm it (the network's window); infinite if the
 * operator has said that the count is right. The first poll of a lane or a generation is believed at once; `settled`: every
 * nonce below it was used before.
 */
export const believedFloor = (
  lane: Nonces,
  view: LaneView,
  claim: CountClaim | undefined,
  maxJump: number,
  settled = 0
): FloorStep => {
  if (view.count > maxNonce) return { ...unchanged(lane), code: "nonce_out_of_range" }
  if (lane.chainBlock === undefined) {
    if (view.isExplained === false) return unchanged(lane)
    const first = { ...lane, settledNonce: Math.max(lane.settledNonce, settled) }
    return raised(first, view, Math.max(view.count, lane.chainNonce), "first")
  }
  if (view.count > lane.nextNonce) return ahead(lane, view, claim, maxJump)
  return view.count >= lane.chainNonce ? raised(lane, view, view.count, "progress") : behind(lane, view, claim)
}

// What a poll asks besides the count of its first provider. An idle lane asks for none of this, so no decision may need it there.

/** The nonce of an open transaction, and its receipt: the recorded one, or one that this poll has seen. */
export interface PolledNonce {
  readonly nonce: number
  readonly receipt?: Pick<Receipt<Evm>, "height" | "blockHash">
}

/** Whether a second provider is asked for its count. */
export const needsSecondCount = ({ chainBlock, chainNonce, nextNonce }: Nonces, count: number): boolean =>
  chainBlock !== undefined && (count > nextNonce || count < chainNonce)

/** The height of the last believed count, if the hash of its block is needed: the count fell. */
export const floorHeight = (
  { chainBlock, chainNonce }: Nonces,
  count: number,
  head: { readonly number: number }
): number | undefined =>
  chainBlock !== undefined && count < chainNonce && chainBlock.number <= head.number ? chainBlock.number : undefined

/** Whether the count at the final height is read: at the first poll, and if the count has passed a nonce without a receipt. */
export const needsFinalCount = ({ chainBlock }: Nonces, count: number, polled: ReadonlyArray<PolledNonce>): boolean =>
  chainBlock === undefined || polled.some(({ nonce, receipt }) => nonce < count && receipt === undefined)

/** Transactions of the account at the final height: what was read, or what receipts in final blocks prove. */
export const finalCountOf = (
  polled: ReadonlyArray<PolledNonce>,
  finalHeight: number,
  hashAt: (height: number) => string | undefined,
  countAtFinal = 0
): number => {
  const final = polled.flatMap(({ nonce, receipt }) =>
    receipt !== undefined && receipt.height <= finalHeight && hashAt(receipt.height) === receipt.blockHash
      ? [nonce + 1]
      : []
  )
  return Math.max(countAtFinal, ...final)
}

// Nonces of a lane below `nextNonce` that no transaction of the ledger has: later ones wait for them for ever.

export interface GapsStep {
  /** Lower than before if nothing is committed above the unused nonces. */
  readonly lane: Nonces
  /** Each gets a no-op of the service. */
  readonly gaps: ReadonlyArray<number>
}

/**
 * `committed`: nonces of all transactions of the lane and generation, final ones included, from `count` on. A count that
 * was not believed says nothing about gaps. They arise if a reorganisation drops a foreign transaction, or from a wrong count.
 */
export const findGaps = (lane: Nonces, count: number, committed: ReadonlyArray<number>, window: number): GapsStep => {
  if (count !== lane.chainNonce) return { lane, gaps: [] }
  const used = new Set(committed)
  const end = Math.max(count, ...committed.map((nonce) => nonce + 1))
  const gaps: Array<number> = []
  for (let nonce = count; nonce < Math.min(end, lane.nextNonce) && gaps.length < window; nonce++) {
    if (!used.has(nonce)) gaps.push(nonce)
  }
  return { lane: end < lane.nextNonce ? { ...lane, nextNonce: end } : lane, gaps }
}

/**
 * Below the settled nonce nothing is checked again, so it never passes an open transaction: `lowestOpen` is the lowest
 * nonce of one that is not final.
 */
export const settleNonces = (
  lane: Nonces,
  countAtFinal: number | undefined,
  lowestOpen: number | undefined
): Nonces => {
  if (countAtFinal === undefined) return lane
  const settled = Math.min(countAtFinal, lowestOpen ?? countAtFinal, lane.chainNonce)
  return settled > lane.settledNonce ? { ...lane, settledNonce: settled } : lane
}

// The proof that a transaction which is not an attempt of the row used its nonce. Only then may the request get another nonce.

export type TakerVerdict =
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

const ofFetched = (transaction: Transaction<Evm>, address: string, view: Seen, taker: Fetched): TakerVerdict => {
  if (currentAttempts(transaction).some(({ hash }) => hash === taker.hash)) return { _tag: "Own", block: taker.block }
  if (taker.sender !== address || taker.nonce !== nonceOf(transaction)) return { _tag: "Unproven" }
  return inBlock(view, taker, { _tag: "Taken", hash: taker.hash, call: taker.call })
}

/** `taken`, if the block is final for both providers. */
const inBlock = (
  view: Seen,
  { block, blockHash, second }: Pick<Fetched, "block" | "blockHash" | "second">,
  taken: TakerVerdict
): TakerVerdict => {
  if (block > view.finalHeight) return { _tag: "NotDeep" }
  return isAgreed(second, block, blockHash) ? taken : { _tag: "Unproven" }
}

/** `address`: of the lane, in lower case. Only what a block shows proves anything: that nothing is found never does. */
export const takerVerdictOf = (
  transaction: Transaction<Evm>,
  address: string,
  view: Seen,
  now: Moment
): TakerVerdict => {
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

/** The data of many calls names all that they do, so that the account that makes them need not be compared. */
const matches = (request: Request, call: ForeignCall): boolean => {
  const { to, value, data = "0x" } = wireOf(request, call.to ?? "")
  return to?.toLowerCase() === call.to && value === call.value && data.toLowerCase() === call.data
}
