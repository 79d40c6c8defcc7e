// The floor of a lane: which counts of the chain are believed, and what they do to the lane's nonces. A count that only one
// provider says once may be wrong, late, or of a fork that dies.
import type { Nonces } from "./Evm.ts"
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
export interface Claim {
  readonly count: number
  readonly headHash: string
}

export interface FloorStep {
  readonly lane: Nonces
  /** The next poll gets it. */
  readonly claim?: Claim
  /** Why the lane assigns no nonces. */
  readonly code?: "nonce_ahead" | "nonce_out_of_range"
  /**
   * `ahead`: other transactions of the account used nonces from the former `nextNonce` on.
   */
  readonly change: "none" | "first" | "progress" | "ahead" | "reorg" | "correction"
}

const unchanged = (lane: Nonces): FloorStep => ({ lane, change: "none" })

/** A second source for a claim: another provider in this poll, or the same one in an earlier poll with another head. */
const otherCount = (view: LaneView, claim: Claim | undefined): number | undefined =>
  view.isExplained === true
    ? view.count
    : (view.secondCount ?? (claim !== undefined && claim.headHash !== view.head.hash ? claim.count : undefined))

const claimOf = ({ count, head }: LaneView): Claim => ({ count, headHash: head.hash })

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
const ahead = (lane: Nonces, view: LaneView, claim: Claim | undefined, maxJump: number): FloorStep => {
  const other = otherCount(view, claim)
  const count = other === undefined ? lane.nextNonce : Math.min(view.count, other)
  if (count <= lane.nextNonce) return { ...unchanged(lane), claim: claimOf(view) }
  if (count - lane.nextNonce > maxJump) return { ...unchanged(lane), claim: claimOf(view), code: "nonce_ahead" }
  return raised(lane, view, count, "ahead")
}

/** Lower than believed before: a reorganisation, a provider that lags, or an earlier count that was wrong. */
const behind = (lane: Nonces, view: LaneView, claim: Claim | undefined): FloorStep => {
  const { chainBlock } = lane
  if (chainBlock === undefined || view.head.number < chainBlock.number) return unchanged(lane)
  if (view.hashAtChainBlock === undefined) return unchanged(lane)
  if (view.hashAtChainBlock !== chainBlock.hash) return lowered(lane, view, view.count, "reorg")
  const other = otherCount(view, claim)
  const count = other === undefined ? lane.chainNonce : Math.max(view.count, other)
  return count < lane.chainNonce
    ? lowered(lane, view, count, "correction")
    : { ...unchanged(lane), claim: claimOf(view) }
}

/**
 * `maxJump`: nonces that others may have used before an operator has to confirm it (the network's window); infinite if the
 * operator has said that the count is right. The first poll of a lane or a generation is believed at once; `settled`: every
 * nonce below it was used before.
 */
export const floor = (
  lane: Nonces,
  view: LaneView,
  claim: Claim | undefined,
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
