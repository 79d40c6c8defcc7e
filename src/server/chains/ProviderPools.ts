// Makes the pool of a set of RPC URLs.
import { Context, Effect, Layer } from "effect"
import type { NetworkType } from "../../domain/network/NetworkId.ts"
import type { RpcConfig } from "../../domain/chain/Rpc.ts"
import { Breakers } from "./Breakers.ts"
import type { Options as BreakerOptions } from "./Breakers.ts"
import { ChainAccess } from "./ChainAccess.ts"
import * as ProviderPool from "./ProviderPool.ts"
import * as Tries from "./Tries.ts"

export interface Options extends Partial<Tries.Options> {
  /** The time limit of a call over all tries and providers, in milliseconds. Absent: 8000. */
  readonly budgetMs?: number
  readonly breaker?: BreakerOptions
}

const defaults = { attempts: 2, timeoutMs: 3000, budgetMs: 8000, backOffMs: 250, longestWaitMs: 2000 }

const make = Effect.fnUntraced(function* (options: Options) {
  const { client } = yield* ChainAccess
  const breakers = yield* Breakers
  const settings = { ...defaults, ...options }
  return ProviderPools.of({
    of: (networkType, urls) =>
      ProviderPool.make(
        { breakers, tries: Tries.make(client, networkType, settings), budgetMs: settings.budgetMs },
        urls
      )
  })
})

export class ProviderPools extends Context.Service<
  ProviderPools,
  {
    /** If no URL has a positive weight, all calls fail with `unreachable`. */
    of(networkType: NetworkType, urls: ReadonlyArray<RpcConfig>): ProviderPool.ProviderPool
  }
>()("effect-relayer/server/chains/ProviderPools") {
  static readonly layerNoDeps = (options: Options = {}) => Layer.effect(ProviderPools, make(options))
  static readonly layer = (options: Options = {}) =>
    Layer.provide(ProviderPools.layerNoDeps(options), Breakers.layer(options.breaker))
}
