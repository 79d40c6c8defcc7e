// Providers of evm chains: how their nodes speak JSON-RPC, how they prove their chain, and what lanes of one chain share.
import { Context, Effect, Layer } from "effect"
import { withoutSecrets } from "../../../domain/chain/Rpc.ts"
import type { RpcConfig } from "../../../domain/chain/Rpc.ts"
import { blockAt, chainId } from "./EvmCalls.ts"
import * as EvmHeads from "./EvmHeads.ts"
import * as EvmMarkets from "./EvmMarkets.ts"
import { classify } from "../../../domain/transaction/evm/Refusal.ts"
import type { NodeAnswer } from "../../../domain/transaction/evm/Refusal.ts"
import { makeProviders } from "../Providers.ts"
import type { Providers } from "../Providers.ts"
import type { RpcAnswer, Unanswered } from "../RpcBatch.ts"
import { answeredFailure, otherChainFailure, rpcCheckCodes } from "../RpcFailure.ts"
import type { RpcDialect, RpcNode } from "../RpcNode.ts"
import { RpcNodes } from "../RpcNodes.ts"

/** What a text says about a transaction is an answer, whatever the status is. */
export const dialect: RpcDialect = {
  networkType: "evm",
  codes: rpcCheckCodes,
  isAnswer: (message) => !["unknown", "provider"].includes(classify({ _tag: "RpcError", message }))
}

const toNodeAnswer = (answer: RpcAnswer): NodeAnswer => (answer._tag === "Result" ? { _tag: "Hash" } : answer)

/** What a node says is shown, if the service does not know the words. */
const masked =
  ({ url }: RpcNode) =>
  (answer: NodeAnswer): NodeAnswer =>
    "message" in answer && answer.message !== undefined
      ? { ...answer, message: withoutSecrets(url, answer.message) }
      : answer

const ofUnanswered = ({ http }: Unanswered): NodeAnswer =>
  http === undefined ? { _tag: "NoAnswer" } : { _tag: "HttpError", ...http }

/** `raw`: a signed transaction, as hex digits after `0x`. */
export const send =
  (raw: string) =>
  (node: RpcNode): Effect.Effect<NodeAnswer> =>
    node.send({ method: "eth_sendRawTransaction", params: [raw] }).pipe(
      Effect.map(toNodeAnswer),
      Effect.catchTag("Unanswered", (error) => Effect.succeed(ofUnanswered(error))),
      Effect.map(masked(node))
    )

export interface ChainIdentity {
  readonly chainId: number
  /** Hash of block 0. Absent: the first provider that is asked decides. */
  readonly genesis?: string
}

export interface EvmProviders extends Providers {
  /** Hash of block 0, once it is known. */
  readonly genesis: Effect.Effect<string | undefined>
}

/** Providers prove the chain id and the hash of block 0. */
export const providers = Effect.fnUntraced(function* (
  nodeOf: (url: string) => RpcNode,
  urls: ReadonlyArray<RpcConfig>,
  identity: ChainIdentity,
  arrange: (nodes: ReadonlyArray<RpcNode>) => ReadonlyArray<RpcNode> = (nodes) => nodes
) {
  let genesis = identity.genesis

  const prove = Effect.fnUntraced(function* (node: RpcNode) {
    const [id, block] = yield* Effect.all([node.call(chainId), node.call(blockAt(0))], { concurrency: 2 })
    const expected = BigInt(identity.chainId)
    if (id !== expected) return yield* otherChainFailure(id, expected).of(chainId.method)
    genesis ??= block?.hash
    if (block !== null && block.hash !== genesis) {
      return yield* answeredFailure("mismatch").of("eth_getBlockByNumber")
    }
  })

  const found: EvmProviders = {
    ...(yield* makeProviders({ nodeOf, prove, arrange }, urls)),
    genesis: Effect.sync(() => genesis)
  }
  return found
})

export class EvmNodes extends Context.Service<
  EvmNodes,
  {
    /** The order of the providers is chosen by weight, once. */
    providers(urls: ReadonlyArray<RpcConfig>, identity: ChainIdentity): Effect.Effect<EvmProviders>
    readonly heads: EvmHeads.EvmHeads
    readonly markets: EvmMarkets.EvmMarkets
  }
>()("effect-relayer/server/chains/evm/EvmNodes") {
  static readonly layerNoDeps = Layer.effect(
    EvmNodes,
    Effect.map(RpcNodes, (nodes) => {
      const heads = EvmHeads.make()
      return EvmNodes.of({
        providers: (urls, identity) => providers((url) => nodes.of(dialect, url), urls, identity, heads.stalledLast),
        heads,
        markets: EvmMarkets.make()
      })
    })
  )
}
