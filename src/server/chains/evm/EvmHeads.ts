// The newest block of each provider, and the blocks below it. Lanes that poll at about the same time share one reading,
// because all accounts of a chain wait for the same head.
import { Clock, Effect } from "effect"
import type { Moment } from "../../../domain/transaction/Moment.ts"
import type { Finality } from "../../../domain/transaction/evm/NetworkNumbers.ts"
import * as RpcFailure from "../RpcFailure.ts"
import { blockAt } from "./EvmCalls.ts"
import type { Block } from "./EvmCalls.ts"
import type { RpcNode } from "../RpcNode.ts"

/**
 * Milliseconds for which a head is shared: the block time of the fastest chains. The other answers of a poll can be newer than
 * its head by this much. That also happens behind a load balancer.
 */
const sharedFor = 250

type HeadAnswer<A> = Effect.Effect<A, RpcFailure.RpcFailure>

/** One reading of the newest block of a provider. */
export interface ChainHead {
  readonly head: Block
  /** Height of the newest block that counts as final; -1 if none does yet. */
  readonly finalHeight: number
  readonly askedAt: Moment
  /** Hashes of the blocks at these heights. A height that the node does not have is left out. */
  hashesAt(heights: Iterable<number>): HeadAnswer<ReadonlyMap<number, string>>
}

export interface EvmHeads {
  /** `after`: when the lane's previous poll asked for its head. The result is newer. */
  at(node: RpcNode, finality: Finality, after: Moment): HeadAnswer<ChainHead>
}

/** Runs `ask` once and shares its result with all callers. A failure is not kept. */
const once = <A>(ask: HeadAnswer<A>, forget: () => void) =>
  Effect.cached(Effect.tapError(ask, () => Effect.sync(forget)))

const finalBlock = (node: RpcNode, tag: "safe" | "finalized") =>
  Effect.map(node.call(blockAt(tag)), (block) => block?.number ?? -1)

/** The head names the hashes of itself and of its parent. */
const hashesBelow = (node: RpcNode, { number, hash, parentHash }: Block): ChainHead["hashesAt"] => {
  const kept = new Map<number, HeadAnswer<string | undefined>>([[number, Effect.succeed(hash)]])
  if (parentHash !== undefined) kept.set(number - 1, Effect.succeed(parentHash))
  const hashAt = Effect.fnUntraced(function* (height: number) {
    const found =
      kept.get(height) ??
      (yield* once(
        Effect.map(node.call(blockAt(height)), (block) => block?.hash),
        () => kept.delete(height)
      ))
    kept.set(height, found)
    return yield* found
  })
  return Effect.fnUntraced(function* (heights) {
    const wanted = [...new Set(heights)].filter((height) => height <= number)
    const hashes = yield* Effect.forEach(wanted, hashAt, { concurrency: "unbounded" })
    return new Map(wanted.flatMap((height, index) => (hashes[index] === undefined ? [] : [[height, hashes[index]]])))
  })
}

/** A reading that is not shared. */
export const read = Effect.fnUntraced(function* (node: RpcNode, finality: Finality) {
  const askedAt = yield* Clock.currentTimeMillis
  const [head, final] = yield* Effect.all(
    [
      node.call(blockAt("latest")),
      typeof finality === "number" ? Effect.succeedNone : Effect.asSome(finalBlock(node, finality))
    ],
    { concurrency: 2 }
  )
  if (head === null) return yield* RpcFailure.failure("invalid_answer")
  const finalHeight = final._tag === "Some" ? final.value : head.number - Number(finality)
  const found: ChainHead = {
    head,
    finalHeight: Math.max(finalHeight, -1),
    askedAt,
    hashesAt: hashesBelow(node, head)
  }
  return found
})

export const make = (): EvmHeads => {
  const kept = new Map<string, { readonly askedAt: Moment; readonly head: HeadAnswer<ChainHead> }>()

  const at: EvmHeads["at"] = Effect.fnUntraced(function* (node, finality, after) {
    const now = yield* Clock.currentTimeMillis
    for (const [key, { askedAt }] of kept) if (askedAt + sharedFor <= now) kept.delete(key)
    const key = `${finality} ${node.url}`
    const found = kept.get(key)
    if (found !== undefined && found.askedAt > after) return yield* found.head
    const head = yield* once(read(node, finality), () => kept.delete(key))
    kept.set(key, { askedAt: now, head })
    return yield* head
  })

  return { at }
}
