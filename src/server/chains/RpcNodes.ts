// Makes the nodes of RPC URLs. All nodes of a URL share its breaker, and what is known about batches.
import { Context, Effect, Layer } from "effect"
import { Breakers } from "./Breakers.ts"
import { ChainAccess } from "./ChainAccess.ts"
import * as RpcNode from "./RpcNode.ts"

/**
 * A second try costs a quarter of a second at most if the provider is busy, and keeps a lane at its provider. A provider that
 * did not answer in time gets none: the next provider is the better use of the time.
 */
const defaults: RpcNode.RetryOptions = { attempts: 2, timeoutMs: 5000, backOffMs: 250, longestWaitMs: 2000 }

export class RpcNodes extends Context.Service<
  RpcNodes,
  {
    of(dialect: RpcNode.RpcDialect, url: string): RpcNode.RpcNode
  }
>()("effect-relayer/server/chains/RpcNodes") {
  static readonly layerNoDeps = (options: Partial<RpcNode.RetryOptions> = {}) =>
    Layer.effect(
      RpcNodes,
      Effect.gen(function* () {
        const { client } = yield* ChainAccess
        const breakers = yield* Breakers
        const withoutBatches = new Set<string>()
        const retry = { ...defaults, ...options }
        return RpcNodes.of({
          of: (dialect, url) => RpcNode.make({ client, dialect, retry, url, withoutBatches, breaker: breakers.of(url) })
        })
      })
    )
}
