// What a second provider says about blocks.
import { Effect } from "effect"
import type { SecondOpinion } from "../../../domain/transaction/evm/View.ts"
import type { RpcFailure } from "../RpcFailure.ts"
import type { ChainHead } from "./EvmHeads.ts"
import type { RpcNode } from "../RpcNode.ts"
import type { Providers } from "../Providers.ts"

/** The opinion of a provider other than `first` about each height. A height without one is unknown. */
export const opinionsOf = Effect.fnUntraced(function* (
  providers: Providers,
  first: RpcNode,
  headOf: (node: RpcNode) => Effect.Effect<ChainHead, RpcFailure>,
  heights: ReadonlyArray<number>
) {
  if (heights.length === 0) return new Map<number, SecondOpinion>()
  const asked = yield* providers.second(first, (node) =>
    Effect.flatMap(headOf(node), ({ finalHeight, hashesAt }) =>
      Effect.map(hashesAt(heights), (hashes) => ({ finalHeight, hashes }))
    )
  )
  if (asked === undefined) return new Map<number, SecondOpinion>()
  if (asked === "not_configured") {
    return new Map<number, SecondOpinion>(heights.map((height) => [height, asked]))
  }
  const { finalHeight, hashes } = asked
  return new Map<number, SecondOpinion>([...hashes].map(([height, hash]) => [height, { hash, finalHeight }]))
})
