// Inspects the chain of a relayer: checks that it is the right one and reads the account.
import { Context, Effect, Layer } from "effect"
import type { ChainSnapshot } from "../../domain/chain/ChainSnapshot.ts"
import type { NetworkType } from "../../domain/network/NetworkId.ts"
import type { Inspect, Target } from "./Inspection.ts"
import { RpcNodes } from "./RpcNodes.ts"

export class Chains extends Context.Service<
  Chains,
  {
    /** Never fails: `failures` of the snapshot contains the problems. */
    inspect(target: Target): Effect.Effect<ChainSnapshot>
  }
>()("effect-relayer/server/chains/Chains") {
  static readonly layerNoDeps = (inspections: Readonly<Record<NetworkType, Inspect>>) =>
    Layer.effect(
      Chains,
      Effect.map(RpcNodes, (nodes) =>
        Chains.of({
          inspect: Effect.fn("Chains.inspect")((target) => inspections[target.relayer.network_type](nodes, target))
        })
      )
    )
}
