// What other providers say about blocks and receipts.
import { Effect } from "effect"
import { maskUrl } from "../../../domain/chain/Rpc.ts"
import { isAgreed, verdictOn } from "../../../domain/transaction/evm/View.ts"
import type { EvmReceipt, SecondOpinion } from "../../../domain/transaction/evm/View.ts"
import type { RpcFailure } from "../RpcFailure.ts"
import { receiptIn, receiptOf } from "./EvmCalls.ts"
import type { ChainHead } from "./EvmHeads.ts"
import type { RpcNode } from "../RpcNode.ts"
import type { Providers } from "../Providers.ts"

/** What the first provider says, about which the others are asked. */
export interface Claim {
  readonly height: number
  readonly blockHash: string
  /** The receipt of this transaction. Absent: only the block is asked about. */
  readonly mined?: { readonly hash: string; readonly receipt: EvmReceipt }
}

const agrees = ({ height, blockHash, mined }: Claim, opinion: SecondOpinion | undefined): boolean =>
  mined === undefined ? isAgreed(opinion, height, blockHash) : verdictOn(mined.receipt, opinion) === "agrees"

const disagrees = ({ mined }: Claim, opinion: SecondOpinion | undefined): boolean =>
  mined !== undefined && verdictOn(mined.receipt, opinion) === "disagrees"

/** An error says nothing about the receipt, like null. */
const receiptAt = Effect.fnUntraced(function* (node: RpcNode, { mined }: Claim) {
  if (mined === undefined) return undefined
  const asked = Effect.map(node.call(receiptOf(mined.hash)), receiptIn)
  const { blockHash, isSuccess = false } = (yield* Effect.orElseSucceed(asked, () => undefined)) ?? {}
  return blockHash === undefined ? null : { blockHash, isSuccess }
})

/**
 * Asks the providers other than `first` in turn, until one agrees with each claim. An opinion that contradicts stays if no later
 * one agrees. Undefined: nobody has an opinion about this claim.
 */
export const opinionsOf = Effect.fnUntraced(function* (
  providers: Providers,
  first: RpcNode,
  headOf: (node: RpcNode) => Effect.Effect<ChainHead, RpcFailure>,
  claims: ReadonlyArray<Claim>
) {
  const found = new Map<Claim, SecondOpinion>()
  if (claims.length === 0) return found
  const isOpen = (claim: Claim) => !agrees(claim, found.get(claim))
  const asked = yield* providers.second(
    first,
    Effect.fnUntraced(function* (node) {
      const open = claims.filter(isOpen)
      const { finalHeight, hashesAt } = yield* headOf(node)
      const hashes = yield* hashesAt(open.map(({ height }) => height))
      const receipts = yield* Effect.forEach(open, (claim) => receiptAt(node, claim), { concurrency: "unbounded" })
      for (const [index, claim] of open.entries()) {
        const hash = hashes.get(claim.height)
        if (hash === undefined) continue
        const receipt = receipts[index]
        const opinion = { hash, finalHeight, host: maskUrl(node.url), ...(receipt === undefined ? {} : { receipt }) }
        if (agrees(claim, opinion) || !disagrees(claim, found.get(claim))) found.set(claim, opinion)
      }
      return !claims.some(isOpen)
    }),
    (areAllAgreed) => areAllAgreed
  )
  if (asked === "not_configured") for (const claim of claims) found.set(claim, asked)
  return found
})
