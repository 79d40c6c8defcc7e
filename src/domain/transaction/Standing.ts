// Whether a recorded receipt still stands: its block can be gone, final, or neither.
import type { Mined } from "./Transaction.ts"
import { isAgreed, isDeep } from "./View.ts"
import type { Seen } from "./View.ts"

/**
 * `gone`: the chain has another block at that height. `final`: the block is deep, and every provider that is configured has
 * it. A provider that does not answer, or whose head is below the block, says nothing.
 */
export type Standing = "gone" | "final" | "waiting"

export const standingOf = (view: Seen, { receipt }: Mined): Standing => {
  const { first, second } = view.minedAt ?? {}
  if (first === undefined || view.head.number < receipt.blockNumber) return "waiting"
  if (first !== receipt.blockHash) return "gone"
  const { blockNumber, blockHash } = receipt
  return isDeep(view, blockNumber) && isAgreed(second, blockNumber, blockHash) ? "final" : "waiting"
}
