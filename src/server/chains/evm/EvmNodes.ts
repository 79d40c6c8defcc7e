// Providers of evm chains, for transactions. Breakers are shared with the health checks.
import { Context, Effect, Layer } from "effect"
import type { RpcConfig } from "../../../domain/chain/Rpc.ts"
import { Breakers } from "../Breakers.ts"
import { ChainAccess } from "../ChainAccess.ts"
import * as EvmHeads from "./EvmHeads.ts"
import * as EvmMarkets from "./EvmMarkets.ts"
import * as EvmNode from "./EvmNode.ts"
import * as EvmProviders from "./EvmProviders.ts"

export class EvmNodes extends Context.Service<
  EvmNodes,
  {
    /** The order of the providers is chosen by weight, once. */
    providers(
      urls: ReadonlyArray<RpcConfig>,
      identity: EvmProviders.ChainIdentity
    ): Effect.Effect<EvmProviders.EvmProviders>
    readonly heads: EvmHeads.EvmHeads
    readonly markets: EvmMarkets.EvmMarkets
  }
>()("effect-relayer/server/chains/evm/EvmNodes") {
  static readonly layerNoDeps = Layer.effect(
    EvmNodes,
    Effect.gen(function* () {
      const { client } = yield* ChainAccess
      const breakers = yield* Breakers
      const withoutBatches = new Set<string>()
      const nodeOf = (url: string) => EvmNode.make({ client, breakers, withoutBatches }, url)
      return EvmNodes.of({
        providers: (urls, identity) => EvmProviders.make(nodeOf, urls, identity),
        heads: EvmHeads.make(),
        markets: EvmMarkets.make()
      })
    })
  )
}
