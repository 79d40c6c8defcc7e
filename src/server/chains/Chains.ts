// Inspects the chain of a relayer: checks that it is the right one and reads the account. Asks the providers of a network.
import { Context, Effect, Layer } from "effect"
import type { ChainSnapshot } from "../../domain/chain/ChainSnapshot.ts"
import type { NetworkType } from "../../domain/network/NetworkId.ts"
import type { Kind, NetworkTarget, ProbedProvider, Target } from "./Inspection.ts"
import { RpcNodes } from "./RpcNodes.ts"

export class Chains extends Context.Service<
  Chains,
  {
    /** Never fails: `failures` of the snapshot contains the problems. */
    inspect(target: Target): Effect.Effect<ChainSnapshot>
    /** The state of each provider of a network, after each was asked whether it is on its chain, and what it can do. Never fails. */
    probe(target: NetworkTarget): Effect.Effect<ReadonlyArray<ProbedProvider>>
  }
>()("effect-relayer/server/chains/Chains") {
  static readonly layerNoDeps = (kinds: Readonly<Record<NetworkType, Kind>>) =>
    Layer.effect(
      Chains,
      Effect.map(RpcNodes, (nodes) =>
        Chains.of({
          inspect: Effect.fn("Chains.inspect")((target) => kinds[target.relayer.network_type].inspect(nodes, target)),
          probe: Effect.fn("Chains.probe")((target) => kinds[target.network.network_type].probe(nodes, target))
        })
      )
    )
}
