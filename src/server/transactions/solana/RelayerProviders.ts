// The providers of a solana relayer, for requests.
import { Effect, Option } from "effect"
import { SolanaNodes } from "../../chains/solana/SolanaNodes.ts"
import type { SolanaProviders } from "../../chains/solana/SolanaNodes.ts"
import { Ledger } from "../../ledger/Ledger.ts"
import { RelayerTargets } from "../../relayers/RelayerTargets.ts"
import type { RelayerTarget } from "../../relayers/RelayerTargets.ts"
import type { Sender } from "../Intake.ts"
import type { RpcFailure } from "../../chains/RpcFailure.ts"
import type { RpcNode } from "../../chains/RpcNode.ts"
import { makeKeptProviders, toBadGateway } from "../Senders.ts"

interface Place {
  readonly urls: RelayerTarget["urls"]
  /** The hash of the first block that the lane knows. Absent: the relayer has no lane yet, because it has sent nothing. */
  readonly genesis?: string
}

export const make = Effect.gen(function* () {
  const nodes = yield* SolanaNodes
  const targets = yield* RelayerTargets
  const ledger = yield* Ledger

  const kept = yield* makeKeptProviders(({ urls, genesis }: Place) => nodes.providers(urls, genesis))

  const of = Effect.fnUntraced(function* ({ relayer, account }: Sender) {
    const { urls } = yield* targets.get(relayer.id)
    const lane = yield* ledger.laneOf(account)
    const genesis = Option.isSome(lane) ? lane.value.genesis : undefined
    return yield* kept(genesis === undefined ? { urls } : { urls, genesis })
  })

  /** Asks a provider, and the next one if it fails. */
  const first = <A>(of: SolanaProviders, use: (node: RpcNode) => Effect.Effect<A, RpcFailure>) =>
    Effect.mapError(of.tryAll(use), toBadGateway)

  return { of, first }
})
