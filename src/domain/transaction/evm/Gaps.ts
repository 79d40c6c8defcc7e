// Nonces of a lane below `nextNonce` that no transaction of the ledger has: later ones wait for them for ever.
import type { Nonces } from "./Evm.ts"

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
export const settle = (lane: Nonces, countAtFinal: number | undefined, lowestOpen: number | undefined): Nonces => {
  if (countAtFinal === undefined) return lane
  const settled = Math.min(countAtFinal, lowestOpen ?? countAtFinal, lane.chainNonce)
  return settled > lane.settledNonce ? { ...lane, settledNonce: settled } : lane
}
