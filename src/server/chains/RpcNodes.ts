// From RPC URLs that users give to nodes: checks and seals of the URLs, the HTTP client, the nodes. All nodes of a URL share its breaker,
// and what is known about batches.
import { Context, Effect, Layer, Redacted, Schema } from "effect"
import type { HttpClient } from "effect/http"
import { isMasked, publishesBy, RpcConfig } from "../../domain/chain/Rpc.ts"
import type { Violation } from "../../domain/request/Request.ts"
import { Outbound } from "../../outbound/Outbound.ts"
import type { SecretPlace, Secrets } from "../secrets/Secrets.ts"
import { Breakers } from "./Breakers.ts"
import { makeBatchSize } from "./RpcBatch.ts"
import type { BatchSize } from "./RpcBatch.ts"
import * as RpcNode from "./RpcNode.ts"

// The HTTP client for calls to chains. A host program may provide its own, for example one that adds the credentials of its
// gateway to each call, or one that asks a node in its own process.

export class ChainAccess extends Context.Service<
  ChainAccess,
  {
    /** Gets every call to an RPC URL of a network or of a relayer. The service retries, also with other providers. */
    readonly client: HttpClient.HttpClient
  }
>()("effect-relayer/server/chains/RpcNodes/ChainAccess") {
  /** Calls chains under the same policy as all other URLs of users. */
  static readonly layer = Layer.effect(
    ChainAccess,
    Effect.map(Outbound, ({ client }) => ChainAccess.of({ client }))
  )
}

/**
 * A second try costs a quarter of a second at most if the provider is busy, and keeps a lane at its provider. A provider that
 * did not answer in time gets none: the next provider is the better use of the time.
 */
const defaults: RpcNode.RetryOptions = { attempts: 2, timeoutMs: 5000, backOffMs: 250, longestWaitMs: 2000 }

/** URLs whose batch sizes are remembered. The one that was first used longest ago is forgotten first. */
const maxSizes = 10_000

interface RpcNodesOptions extends Partial<RpcNode.RetryOptions> {
  /** Calls in a batch that the provider of a URL is known to take. Absent, or undefined for a URL: nothing is known. */
  readonly largestBatch?: (url: string) => number | undefined
}

const sizesOf = (largestBatch: (url: string) => number | undefined) => {
  const sizes = new Map<string, BatchSize>()
  return (url: string) => {
    const known = sizes.get(url)
    if (known !== undefined) return known
    const [oldest] = sizes.size < maxSizes ? [] : sizes.keys()
    if (oldest !== undefined) sizes.delete(oldest)
    const size = makeBatchSize(largestBatch(url))
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
  /** @internal */
  static readonly layerNoDeps = ({ largestBatch = () => undefined, ...options }: RpcNodesOptions = {}) =>
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

// RPC URLs that users give: checks where they lead, and seals them for the database.

/** The violations of a URL in `field`. */
export const refuseRpcUrl = (outbound: Outbound["Service"], field: string, url: string): ReadonlyArray<Violation> => {
  const message = isMasked(url) ? "is masked: send the URL itself" : outbound.refuse(url)
  return message === undefined ? [] : [{ field, message }]
}

/** The violations of the URLs in the list `field`. */
export const refuseRpcUrls = (
  outbound: Outbound["Service"],
  field: string,
  urls: ReadonlyArray<RpcConfig>
): ReadonlyArray<Violation> => urls.flatMap(({ url }, index) => refuseRpcUrl(outbound, `${field}.${index}.url`, url))

/** The violations of private URLs in the list `field` whose endpoints publish what they get. */
export const refusePublishing = (field: string, urls: ReadonlyArray<RpcConfig>): ReadonlyArray<Violation> =>
  urls.flatMap(({ url }, index) => {
    const by = publishesBy(url)
    return by === undefined
      ? []
      : [
          {
            field: `${field}.${index}.url`,
            message: `has ${by}, with which the endpoint publishes transactions: leave it out`
          }
        ]
  })

const decodeRpcUrls = Schema.decodeEffect(Schema.fromJsonString(Schema.Array(RpcConfig)))

export const sealRpcUrls = (secrets: Secrets["Service"], urls: ReadonlyArray<RpcConfig>, place: SecretPlace) =>
  secrets.seal(Redacted.make(JSON.stringify(urls)), place)

export const openRpcUrls = (secrets: Secrets["Service"], sealed: Uint8Array, place: SecretPlace) =>
  secrets.open(sealed, place).pipe(
    Effect.flatMap((json) => decodeRpcUrls(Redacted.value(json))),
    Effect.orDie
  )
