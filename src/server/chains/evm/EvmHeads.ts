// The newest block of each provider, and the blocks below it. Lanes that poll at about the same time share one reading,
// because all accounts of a chain wait for the same head.
import { Clock, Effect } from "effect"
import { isStalled, observedHead } from "../../../domain/chain/Rpc.ts"
import type { HeadWatch } from "../../../domain/chain/Rpc.ts"
import type { Finality } from "../../../domain/transaction/evm/NetworkNumbers.ts"
import { blockAt } from "./EvmCalls.ts"
import type { Block } from "./EvmCalls.ts"
import type { Moment } from "../../../domain/transaction/TransactionValues.ts"
import { rpcFailure } from "../RpcFailure.ts"
import type { RpcFailure } from "../RpcFailure.ts"
import type { RpcNode } from "../RpcNode.ts"

/**
 * Milliseconds for which a head is shared: the block time of the fastest chains. The other answers of a poll can be newer than
 * its head by this much. That also happens behind a load balancer.
 */
const sharedFor = 250

type HeadAnswer<A> = Effect.Effect<A, RpcFailure>

/** One reading of the newest block of a provider. */
export interface ChainHead {
  readonly head: Block
  /** Height of the newest block that counts as final; -1 if none does yet. */
  readonly finalHeight: number
  readonly askedAt: Moment
  /** Hashes of the blocks at these heights. A height that the node does not have is left out. */
  hashesAt(heights: Iterable<number>): HeadAnswer<ReadonlyMap<number, string>>
}

/** What a head is read with: `finality` decides which block is final, `blockTime` when a provider is stalled. */
interface HeadOptions {
  readonly finality: Finality
  /** Milliseconds. */
  readonly blockTime: number
}

export interface EvmHeads {
  /** `after`: when the lane's previous poll asked for its head. The result is newer. */
  at(node: RpcNode, options: HeadOptions, after: Moment): HeadAnswer<ChainHead>
  /** Present if the provider is stalled: its newest block, if it has shown one, and since when. */
  stalled(url: string): HeadWatch | undefined
  /** Stalled providers in the order of their heads, the highest first, after the others. */
  stalledLast(nodes: ReadonlyArray<RpcNode>): ReadonlyArray<RpcNode>
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
  if (head === null) return yield* rpcFailure("invalid_answer")
  const finalHeight = final._tag === "Some" ? final.value : head.number - Number(finality)
  const found: ChainHead = {
    head,
    finalHeight: Math.max(finalHeight, -1),
    askedAt,
    hashesAt: hashesBelow(node, head)
  }
  return found
})

/** URLs whose heads are remembered. The one that was asked least recently is forgotten first. */
const maxWatched = 10_000

export const make = (): EvmHeads => {
  const kept = new Map<string, { readonly askedAt: Moment; readonly head: HeadAnswer<ChainHead> }>()
  const watches = new Map<string, HeadWatch & { readonly isStalled: boolean }>()

  const note = (url: string, blockTime: number, head: Block | undefined) =>
    Effect.map(Clock.currentTimeMillis, (now) => {
      const watch = observedHead(watches.get(url), head, now, blockTime)
      watches.delete(url)
      watches.set(url, { ...watch, isStalled: isStalled(watch, blockTime) })
      const [oldest] = watches.keys()
      if (watches.size > maxWatched && oldest !== undefined) watches.delete(oldest)
    })

  const watched = (node: RpcNode, { finality, blockTime }: HeadOptions) =>
    read(node, finality).pipe(
      Effect.tap(({ head }) => note(node.url, blockTime, head)),
      Effect.tapError(() => note(node.url, blockTime, undefined))
    )

  const at: EvmHeads["at"] = Effect.fnUntraced(function* (node, options, after) {
    const now = yield* Clock.currentTimeMillis
    for (const [key, { askedAt }] of kept) if (askedAt + sharedFor <= now) kept.delete(key)
    const key = `${options.finality} ${node.url}`
    const found = kept.get(key)
    if (found !== undefined && found.askedAt > after) return yield* found.head
    const head = yield* once(watched(node, options), () => kept.delete(key))
    kept.set(key, { askedAt: now, head })
    return yield* head
  })

  const stalled: EvmHeads["stalled"] = (url) => {
    const watch = watches.get(url)
    return watch?.isStalled === true ? watch : undefined
  }

  const heightOf = ({ url }: RpcNode): number => stalled(url)?.height ?? -1

  const stalledLast: EvmHeads["stalledLast"] = (nodes) => {
    const later = nodes.filter(({ url }) => stalled(url) !== undefined)
    if (later.length === 0) return nodes
    const sorted = later.toSorted((one, other) => heightOf(other) - heightOf(one))
    return [...nodes.filter(({ url }) => stalled(url) === undefined), ...sorted]
  }

  return { at, stalled, stalledLast }
}
