// Providers of solana clusters, and how nodes answer to signed transactions.
import { Context, Effect, Layer } from "effect"
import type { RpcConfig } from "../../../domain/chain/Rpc.ts"
import type { NodeAnswer } from "../../../domain/transaction/solana/NodeAnswer.ts"
import * as Providers from "../Providers.ts"
import type { RpcAnswer } from "../RpcBatch.ts"
import * as RpcFailure from "../RpcFailure.ts"
import type { RpcDialect, RpcNode } from "../RpcNode.ts"
import { RpcNodes } from "../RpcNodes.ts"
import { genesisHash } from "./SolanaCalls.ts"

/** -32005 means that the node lags behind, and -32016 that it has not reached the slot of the call. */
export const dialect: RpcDialect = {
  networkType: "solana",
  codes: { ...RpcFailure.codes, [-32_005]: "unreachable", [-32_016]: "unreachable" },
  isAnswer: () => false
}

export interface SolanaProviders extends Providers.Providers {
  /** URLs that are asked. */
  readonly configured: number
  /** The hash of the first block, once it is known. */
  readonly genesis: Effect.Effect<string | undefined>
}

/** Providers prove the hash of the first block. `known`: of the lane. Absent: the first provider that is asked decides. */
export const providers = Effect.fnUntraced(function* (
  nodeOf: (url: string) => RpcNode,
  urls: ReadonlyArray<RpcConfig>,
  known: string | undefined
) {
  let genesis = known

  const prove = Effect.fnUntraced(function* (node: RpcNode) {
    const found = yield* node.call(genesisHash)
    genesis ??= found
    if (found !== genesis) return yield* RpcFailure.answered("mismatch").of(genesisHash.method)
  })

  const made: SolanaProviders = {
    ...(yield* Providers.make({ nodeOf, prove }, urls)),
    configured: new Set(urls.filter(({ weight }) => weight > 0).map(({ url }) => url)).size,
    genesis: Effect.sync(() => genesis)
  }
  return made
})

export class SolanaNodes extends Context.Service<
  SolanaNodes,
  {
    /** The order of the providers is chosen by weight, once. */
    providers(urls: ReadonlyArray<RpcConfig>, genesis: string | undefined): Effect.Effect<SolanaProviders>
  }
>()("effect-relayer/server/chains/solana/SolanaNodes") {
  static readonly layerNoDeps = Layer.effect(
    SolanaNodes,
    Effect.map(RpcNodes, (nodes) =>
      SolanaNodes.of({ providers: (urls, genesis) => providers((url) => nodes.of(dialect, url), urls, genesis) })
    )
  )
}

const toNodeAnswer = (answer: RpcAnswer): NodeAnswer => (answer._tag === "Result" ? { _tag: "Signature" } : answer)

/** `raw`: base64. The node sends once and keeps nothing: sending again is up to the service. */
export const send =
  (raw: string) =>
  (node: RpcNode): Effect.Effect<NodeAnswer> => {
    const options = { encoding: "base64", skipPreflight: true, maxRetries: 0 }
    return node.send({ method: "sendTransaction", params: [raw, options] }).pipe(
      Effect.map(toNodeAnswer),
      Effect.catchTag("Unanswered", () => Effect.succeed<NodeAnswer>({ _tag: "NoAnswer" }))
    )
  }
