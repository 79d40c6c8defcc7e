// What providers say of blocks: the hash at a height, and which block is final.
import { Effect } from "effect"
import type { Finality } from "../../../domain/transaction/NetworkNumbers.ts"
import type { SecondOpinion } from "../../../domain/transaction/View.ts"
import * as RpcFailure from "../RpcFailure.ts"
import { blockAt } from "./EvmCalls.ts"
import type { EvmNode } from "./EvmNode.ts"
import type { EvmProviders } from "./EvmProviders.ts"

const finalBlock = (node: EvmNode, tag: "safe" | "finalized") =>
  Effect.map(node.call(blockAt(tag)), (block) => block?.number ?? -1)

/** The newest block, and the height of the newest final one; -1 if none is final yet. */
export const headOf = Effect.fnUntraced(function* (node: EvmNode, finality: Finality) {
  const [head, final] = yield* Effect.all(
    [
      node.call(blockAt("latest")),
      typeof finality === "number" ? Effect.succeedNone : Effect.asSome(finalBlock(node, finality))
    ],
    { concurrency: 2 }
  )
  if (head === null) return yield* RpcFailure.failure("invalid_answer")
  const finalHeight = final._tag === "Some" ? final.value : head.number - Number(finality)
  return { head, finalHeight: Math.max(finalHeight, -1) }
})

/** Hashes of blocks, by height. A height that the node does not have is left out. */
export const hashesAt = (node: EvmNode, heights: ReadonlyArray<number>) =>
  Effect.map(
    Effect.forEach(heights, (height) => node.call(blockAt(height)), { concurrency: "unbounded" }),
    (blocks) => new Map(blocks.flatMap((block) => (block === null ? [] : [[block.number, block.hash] as const])))
  )

/** The opinion of a provider other than `first` about each height. A height without one is unknown. */
export const opinionsOf = Effect.fnUntraced(function* (
  providers: EvmProviders,
  first: EvmNode,
  finality: Finality,
  heights: ReadonlyArray<number>
) {
  if (heights.length === 0) return new Map<number, SecondOpinion>()
  const asked = yield* providers.second(first, (node) =>
    Effect.all({ at: headOf(node, finality), hashes: hashesAt(node, heights) }, { concurrency: 2 })
  )
  if (asked === undefined) return new Map<number, SecondOpinion>()
  if (asked === "not_configured") {
    return new Map<number, SecondOpinion>(heights.map((height) => [height, asked]))
  }
  const { at, hashes } = asked
  return new Map<number, SecondOpinion>(
    [...hashes].map(([height, hash]) => [height, { hash, finalHeight: at.finalHeight }])
  )
})
