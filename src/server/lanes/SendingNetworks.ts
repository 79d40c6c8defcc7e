// The networks that this process sends for. A host program may replace one.
import { Context, Effect, Layer } from "effect"
import type { SendingNetwork } from "./LaneNetwork.ts"

export class SendingNetworks extends Context.Service<
  SendingNetworks,
  {
    /** Their network types. Lanes of other types are left to other processes. */
    readonly types: ReadonlyArray<string>
    /** By the chain of a lane, such as `evm:8453`. Undefined: this process does not send there. */
    of(chain: string): SendingNetwork | undefined
    /** Loads what the first signatures of the process would wait for. */
    readonly warmUp: Effect.Effect<void>
  }
>()("effect-relayer/server/lanes/SendingNetworks") {
  static readonly layer = <E, R>(networks: Effect.Effect<ReadonlyArray<SendingNetwork>, E, R>) =>
    Layer.effect(
      SendingNetworks,
      Effect.map(networks, (all) => {
        const byType = new Map(all.map((network) => [network.rules.type, network]))
        return SendingNetworks.of({
          warmUp: Effect.forEach(all, ({ warmUp }) => warmUp, { discard: true }),
          types: [...byType.keys()],
          of: (chain) => byType.get(chain.split(":", 1)[0] ?? chain)
        })
      })
    )
}
