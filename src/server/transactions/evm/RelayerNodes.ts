// The providers of a relayer, for requests: they are chosen and checked once, and kept for the next requests.
import { Cache, Duration, Effect } from "effect"
import type { RelayerId } from "../../../domain/relayer/Relayer.ts"
import { EvmNodes } from "../../chains/evm/EvmNodes.ts"
import type { Providers } from "../../chains/Providers.ts"
import type { RpcNode } from "../../chains/RpcNode.ts"
import type { RpcFailure } from "../../chains/RpcFailure.ts"
import { RelayerTargets } from "../../relayers/RelayerTargets.ts"
import type { RelayerTarget } from "../../relayers/RelayerTargets.ts"
import { toBadGateway } from "../ProviderErrors.ts"

/** How many sets of providers are kept, and for how long. The restart of a test chain is noticed after this time. */
const capacity = 1000
const kept = Duration.minutes(1)

interface Place {
  readonly urls: RelayerTarget["urls"]
  readonly chainId: number
}

export const make = Effect.gen(function* () {
  const nodes = yield* EvmNodes
  const targets = yield* RelayerTargets

  const providers = yield* Cache.make<string, Providers>({
    capacity,
    timeToLive: kept,
    lookup: (key) => {
      const { urls, chainId } = JSON.parse(key) as Place
      return nodes.providers(urls, { chainId })
    }
  })

  const of = Effect.fnUntraced(function* (id: RelayerId, chainId: number) {
    const { urls } = yield* targets.get(id)
    const place: Place = { urls, chainId }
    return yield* Cache.get(providers, JSON.stringify(place))
  })

  /** Asks a provider of the relayer, and the next one if it fails. */
  const first = Effect.fnUntraced(function* <A>(
    id: RelayerId,
    chainId: number,
    use: (node: RpcNode) => Effect.Effect<A, RpcFailure>
  ) {
    const found = yield* of(id, chainId)
    return yield* Effect.mapError(found.tryAll(use), toBadGateway)
  })

  /** Asks all providers of the relayer. Those that do not answer are left out. */
  const each = Effect.fnUntraced(function* <A>(
    id: RelayerId,
    chainId: number,
    use: (node: RpcNode) => Effect.Effect<A, RpcFailure>
  ) {
    const answers = yield* (yield* of(id, chainId)).each(use)
    return answers.filter((answer) => answer !== undefined)
  })

  return { first, each }
})
