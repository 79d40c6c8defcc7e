// Transactions of finalized blocks that show how far the index of a node has come. Nodes write the statuses and lists of a block
// some time after they name its slot, so a signature that they do not find proves nothing by itself.
import { Effect } from "effect"
import { boundMargin, emptyBlocks } from "../../../domain/transaction/solana/SolanaNumbers.ts"
import type { RpcFailure } from "../RpcFailure.ts"
import type { RpcNode } from "../RpcNode.ts"
import * as Calls from "./SolanaCalls.ts"

/** A transaction of a finalized block. */
export interface Place {
  readonly signature: string
  readonly slot: number
}

/** What an index misses nothing up to: `toHeight`. */
export type Witness =
  /** If the same answer has this transaction in this slot. */
  | { readonly shown: Place; readonly toHeight: number }
  /** In any case, from a slot on: the blocks themselves were read, and are empty. */
  | { readonly shown?: undefined; readonly fromSlot: number; readonly toHeight: number }

export interface Finalized {
  readonly slot: number
  readonly height: number
}

export interface Sought {
  /** The last height that counts. */
  readonly bound: number
  /** The lowest slot that counts. */
  readonly lowest: number
}

/**
 * The last transaction of the first finalized block above the bound. If that block has none, the blocks below it are read until
 * one has a transaction: those that are read and are empty need no index. Undefined: the node does not show the blocks.
 */
export const above = Effect.fn("SolanaWitnesses.above")(function* (
  node: RpcNode,
  { slot, height }: Finalized,
  { bound, lowest }: Sought
): Effect.fn.Return<Witness | undefined, RpcFailure> {
  // Each block is one height and at least one slot above the block before it, so every block from this slot on is above the bound.
  const start = Math.max(slot - (height - bound - boundMargin), 0)
  const [first] = yield* node.call(Calls.blocksFrom(start, 1))
  if (first === undefined || first > slot) return undefined
  const newest = yield* node.call(Calls.signaturesIn(first))
  if (newest === null || newest.blockHeight === null || newest.blockHeight <= bound) return undefined
  const toHeight = newest.blockHeight - 1
  const of = (signature: string, slot: number): Witness => ({ shown: { signature, slot }, toHeight })
  const signature = newest.signatures.at(-1)
  if (signature !== undefined) return of(signature, first)
  for (let end = first - 1; end >= lowest; end -= emptyBlocks) {
    const slots = (yield* node.call(Calls.blocksBetween(Math.max(end - emptyBlocks + 1, lowest), end))).toReversed()
    const blocks = yield* Effect.forEach(slots, (one) => node.call(Calls.signaturesIn(one)), {
      concurrency: "unbounded"
    })
    for (const [index, block] of blocks.entries()) {
      if (block === null) return undefined
      const last = block.signatures.at(-1)
      if (last !== undefined) return of(last, slots[index] ?? 0)
    }
  }
  return { fromSlot: lowest, toHeight }
})

/** The last transaction of the newest block up to a slot. Undefined: the node does not show it, or the blocks are empty. */
export const before = Effect.fn("SolanaWitnesses.before")(function* (
  node: RpcNode,
  slot: number
): Effect.fn.Return<Place | undefined, RpcFailure> {
  const slots = yield* node.call(Calls.blocksBetween(Math.max(slot - emptyBlocks + 1, 0), slot))
  for (const one of slots.toReversed()) {
    const signature = (yield* node.call(Calls.signaturesIn(one)))?.signatures.at(-1)
    if (signature !== undefined) return { signature, slot: one }
  }
  return undefined
})
