// The providers of one lane: the first answers as long as it can, so that counts do not jump between back ends; the others
// give second opinions. Every provider proves that it is on the lane's chain before it is believed or gets bytes.
import { Data, Effect } from "effect"
import type { RpcConfig } from "../../../domain/chain/Rpc.ts"
import type { NodeAnswer } from "../../../domain/transaction/Refusal.ts"
import * as RpcFailure from "../RpcFailure.ts"
import * as Weights from "../Weights.ts"
import { blockAt, chainId } from "./EvmCalls.ts"
import type { EvmNode } from "./EvmNode.ts"

/** Providers that get the same bytes. */
const maxBroadcast = 2

export interface ChainIdentity {
  readonly chainId: number
  /** Hash of block 0. Absent: the first provider that is asked decides. */
  readonly genesis?: string
}

export interface ProviderFailure {
  /** Not masked. */
  readonly url: string
  readonly failure: RpcFailure.RpcFailure
}

/** No provider answered. Each has a failure, in the order of the calls. */
export class NoProvider extends Data.TaggedError("NoProvider")<{
  readonly failures: ReadonlyArray<ProviderFailure>
}> {}

export interface EvmProviders {
  /** Asks the present provider, and the next ones if it fails. The one that answered is asked first from then on. */
  first<A>(use: (node: EvmNode) => Effect.Effect<A, RpcFailure.RpcFailure>): Effect.Effect<A, RpcFailure.RpcFailure>
  /** The same, with the failure of each provider. */
  tryAll<A>(use: (node: EvmNode) => Effect.Effect<A, RpcFailure.RpcFailure>): Effect.Effect<A, NoProvider>
  /** Asks others than `asked`, until one answers. Undefined: none does. `not_configured`: there is only one. */
  second<A>(
    asked: EvmNode,
    use: (node: EvmNode) => Effect.Effect<A, RpcFailure.RpcFailure>
  ): Effect.Effect<A | undefined | "not_configured">
  /** Sends bytes to up to two providers. Empty: none of them is on the chain. */
  broadcast(raw: string): Effect.Effect<ReadonlyArray<NodeAnswer>>
  /** The chain may have begun anew: every provider has to prove itself again. */
  readonly doubt: Effect.Effect<void>
  /** Hash of block 0, once it is known. */
  readonly genesis: Effect.Effect<string | undefined>
}

/** `urls` with a weight of 0 are not called. */
export const make = Effect.fnUntraced(function* (
  nodeOf: (url: string) => EvmNode,
  urls: ReadonlyArray<RpcConfig>,
  identity: ChainIdentity
) {
  const shuffled = yield* Weights.shuffle(urls)
  let order = [...new Set(shuffled.map(({ url }) => url))].map(nodeOf)
  let genesis = identity.genesis
  let trusted = new Set<EvmNode>()

  const prove = Effect.fnUntraced(function* (node: EvmNode) {
    if (trusted.has(node)) return
    const [id, block] = yield* Effect.all([node.call(chainId), node.call(blockAt(0))], { concurrency: 2 })
    if (id !== BigInt(identity.chainId)) return yield* RpcFailure.answered("mismatch").of("eth_chainId")
    genesis ??= block?.hash
    if (block !== null && block.hash !== genesis) {
      return yield* RpcFailure.answered("mismatch").of("eth_getBlockByNumber")
    }
    trusted.add(node)
  })

  const on = <A>(node: EvmNode, use: (node: EvmNode) => Effect.Effect<A, RpcFailure.RpcFailure>) =>
    Effect.andThen(
      prove(node),
      Effect.suspend(() => use(node))
    )

  const tryAll: EvmProviders["tryAll"] = Effect.fnUntraced(function* (use) {
    const failures: Array<ProviderFailure> = []
    for (const node of order) {
      const asked = yield* Effect.result(on(node, use))
      if (asked._tag === "Success") {
        order = [node, ...order.filter((other) => other !== node)]
        return asked.success
      }
      failures.push({ url: node.url, failure: asked.failure })
    }
    return yield* new NoProvider({ failures })
  })

  const first: EvmProviders["first"] = (use) =>
    Effect.mapError(tryAll(use), ({ failures }) => RpcFailure.firstOver(failures.map(({ failure }) => failure)))

  // Not the order decides: it is not changed before the whole poll of a provider has succeeded.
  const second = Effect.fnUntraced(function* <A>(
    asked: EvmNode,
    use: (node: EvmNode) => Effect.Effect<A, RpcFailure.RpcFailure>
  ) {
    const others = order.filter(({ url }) => url !== asked.url)
    if (others.length === 0) return "not_configured" as const
    for (const node of others) {
      const found = yield* Effect.result(on(node, use))
      if (found._tag === "Success") return found.success
    }
    return undefined
  })

  const isOnChain = (node: EvmNode) => Effect.isSuccess(prove(node))

  const broadcast: EvmProviders["broadcast"] = Effect.fnUntraced(function* (raw) {
    const nodes = yield* Effect.filter(order.slice(0, maxBroadcast), isOnChain, { concurrency: maxBroadcast })
    return yield* Effect.forEach(nodes, (node) => node.send(raw), { concurrency: maxBroadcast })
  })

  const providers: EvmProviders = {
    first,
    tryAll,
    second,
    broadcast,
    doubt: Effect.sync(() => void (trusted = new Set())),
    genesis: Effect.sync(() => genesis)
  }
  return providers
})
