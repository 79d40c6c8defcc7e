// The providers of an evm relayer, for requests.
import { Effect } from "effect"
import type { RelayerId } from "../../../domain/relayer/Relayer.ts"
import { EvmNodes } from "../../chains/evm/EvmNodes.ts"
import { RelayerTargets } from "../../relayers/RelayerTargets.ts"
import type { RelayerTarget } from "../../relayers/RelayerTargets.ts"
import type { RpcFailure } from "../../chains/RpcFailure.ts"
import type { RpcNode } from "../../chains/RpcNode.ts"
import { makeKeptProviders, toBadGateway } from "../Senders.ts"

interface Place {
  readonly urls: RelayerTarget["urls"]
  readonly chainId: number
}

export const make = Effect.gen(function* () {
  const nodes = yield* EvmNodes
  const targets = yield* RelayerTargets

  const kept = yield* makeKeptProviders(({ urls, chainId }: Place) => nodes.providers(urls, { chainId }))

  const of = Effect.fnUntraced(function* (id: RelayerId, chainId: number) {
    const { urls } = yield* targets.get(id)
    return yield* kept({ urls, chainId })
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
