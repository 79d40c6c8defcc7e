// Providers of solana clusters, and how nodes answer to signed transactions.
import { Context, Effect, Layer } from "effect"
import type { RpcConfig } from "../../../domain/chain/Rpc.ts"
import type { NodeAnswer } from "../../../domain/transaction/solana/NodeAnswer.ts"
import { makeProviders } from "../Providers.ts"
import type { Providers } from "../Providers.ts"
import type { RpcAnswer, RpcCall } from "../RpcBatch.ts"
import { answeredFailure, rpcCheckCodes } from "../RpcFailure.ts"
import type { RpcFailure } from "../RpcFailure.ts"
import type { RpcDialect, RpcNode, TypedCall } from "../RpcNode.ts"
import { RpcNodes } from "../RpcNodes.ts"
import { genesisHash, invalidParams, readCommitment } from "./SolanaCalls.ts"

/** -32005 means that the node lags behind, and -32016 that it has not reached the slot of the call. */
export const dialect: RpcDialect = {
  networkType: "solana",
  codes: { ...rpcCheckCodes, [-32_005]: "unreachable", [-32_016]: "unreachable" },
  isAnswer: () => false
}

const isConfig = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === "object" && value !== null && !Array.isArray(value)

/** The same call at `finalized`. Undefined: it does not name the commitment. */
const atFinalized = <C extends RpcCall>(call: C): C | undefined => {
  if (!Array.isArray(call.params)) return undefined
  const params: ReadonlyArray<unknown> = call.params
  const names = (param: unknown) => isConfig(param) && param["commitment"] === readCommitment
  if (!params.some(names)) return undefined
  return {
    ...call,
    params: params.map((param) => (names(param) ? { ...Object(param), commitment: "finalized" } : param))
  }
}

/**
 * If the node refuses the parameters of a read, and answers the same read at `finalized`, it does not know the commitment. `without` has
 * the URLs of such nodes, which are asked at `finalized` from then on.
 */
export const adapting = (node: RpcNode, without: Set<string>): RpcNode => ({
  ...node,
  call: <A>(call: TypedCall<A>): Effect.Effect<A, RpcFailure> => {
    const instead = atFinalized(call)
    if (instead === undefined) return node.call(call)
    if (without.has(node.url)) return node.call(instead)
    return Effect.catchIf(
      node.call(call),
      ({ rpcCode }) => rpcCode === invalidParams,
      (failure) =>
        Effect.tap(
          Effect.mapError(node.call(instead), () => failure),
          () => Effect.sync(() => without.add(node.url))
        )
    )
  },
  ask: (call) => node.ask(without.has(node.url) ? (atFinalized(call) ?? call) : call)
})

export interface SolanaProviders extends Providers {
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
  const withoutConfirmed = new Set<string>()
  const adaptingNodeOf = (url: string) => adapting(nodeOf(url), withoutConfirmed)

  const prove = Effect.fnUntraced(function* (node: RpcNode) {
    const found = yield* node.call(genesisHash)
    genesis ??= found
    if (found !== genesis) return yield* answeredFailure("mismatch").of(genesisHash.method)
  })

  const made: SolanaProviders = {
    ...(yield* makeProviders({ nodeOf: adaptingNodeOf, prove }, urls)),
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
