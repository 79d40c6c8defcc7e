// Makes the nodes of RPC URLs. All nodes of a URL share its breaker, and what is known about batches.
import { Context, Effect, Layer } from "effect"
import { Breakers } from "./Breakers.ts"
import { ChainAccess } from "./ChainAccess.ts"
import * as BatchSize from "./BatchSize.ts"
import * as RpcNode from "./RpcNode.ts"

/**
 * A second try costs a quarter of a second at most if the provider is busy, and keeps a lane at its provider. A provider that
 * did not answer in time gets none: the next provider is the better use of the time.
 */
const defaults: RpcNode.RetryOptions = { attempts: 2, timeoutMs: 5000, backOffMs: 250, longestWaitMs: 2000 }

/** URLs whose batch sizes are remembered. The one that was first used longest ago is forgotten first. */
const maxSizes = 10_000

interface Options extends Partial<RpcNode.RetryOptions> {
  /** Calls in a batch that the provider of a URL is known to take. Absent, or undefined for a URL: nothing is known. */
  readonly largestBatch?: (url: string) => number | undefined
}

const sizesOf = (largestBatch: (url: string) => number | undefined) => {
  const sizes = new Map<string, BatchSize.BatchSize>()
  return (url: string) => {
    const known = sizes.get(url)
    if (known !== undefined) return known
    const [oldest] = sizes.size < maxSizes ? [] : sizes.keys()
    if (oldest !== undefined) sizes.delete(oldest)
    const size = BatchSize.make(largestBatch(url))
    sizes.set(url, size)
    return size
  }
}

export class RpcNodes extends Context.Service<
  RpcNodes,
  {
    of(dialect: RpcNode.RpcDialect, url: string): RpcNode.RpcNode
  }
>()("effect-relayer/server/chains/RpcNodes") {
  static readonly layerNoDeps = ({ largestBatch = () => undefined, ...options }: Options = {}) =>
    Layer.effect(
      RpcNodes,
      Effect.gen(function* () {
        const { client } = yield* ChainAccess
        const breakers = yield* Breakers
        const sizeOf = sizesOf(largestBatch)
        const retry = { ...defaults, ...options }
        return RpcNodes.of({
          of: (dialect, url) =>
            RpcNode.make({ client, dialect, retry, url, size: sizeOf(url), breaker: breakers.of(url) })
        })
      })
    )
}
