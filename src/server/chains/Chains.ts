// Inspects the chain of a relayer: checks that it is the right one and reads the account.
import { Context, Effect, Layer } from "effect"
import type { Network } from "../../domain/network/Network.ts"
import type { ChainSnapshot } from "../../domain/chain/ChainSnapshot.ts"
import type { Relayer } from "../../domain/relayer/Relayer.ts"
import type { RpcConfig } from "../../domain/chain/Rpc.ts"
import * as EvmChain from "./EvmChain.ts"
import type { ProviderPool } from "./ProviderPool.ts"
import { ProviderPools } from "./ProviderPools.ts"
import type { Options } from "./ProviderPools.ts"
import * as SolanaChain from "./SolanaChain.ts"
import * as StellarChain from "./StellarChain.ts"

export interface Target {
  readonly relayer: Relayer
  /** The network of the relayer, of the same type. */
  readonly network: Network
  /** The custom URLs of the relayer, or else those of the network. Not masked. */
  readonly urls: ReadonlyArray<RpcConfig>
}

const inspectAccount = (pool: ProviderPool, relayer: Relayer, network: Network) => {
  if (relayer.network_type === "evm" && network.network_type === "evm") return EvmChain.inspect(pool, relayer, network)
  if (relayer.network_type === "solana" && network.network_type === "solana") return SolanaChain.inspect(pool, relayer)
  if (relayer.network_type === "stellar" && network.network_type === "stellar") {
    return StellarChain.inspect(pool, relayer, network)
  }
  return Effect.die(new Error("the network is of another type than the relayer"))
}

const make = Effect.map(ProviderPools, (pools) => {
  const inspect = Effect.fn("Chains.inspect")(function* ({ network, relayer, urls }: Target) {
    const pool = pools.of(relayer.network_type, urls)
    const found = yield* inspectAccount(pool, relayer, network)
    const reading: ChainSnapshot = { ...found, providers: yield* pool.readings }
    return reading
  })
  return Chains.of({ inspect })
})

export class Chains extends Context.Service<
  Chains,
  {
    /** Never fails: `failures` of the snapshot contains the problems. Takes at most 2 × `budgetMs` + `timeoutMs`: 19 seconds. */
    inspect(target: Target): Effect.Effect<ChainSnapshot>
  }
>()("effect-relayer/server/chains/Chains") {
  static readonly layerNoDeps = Layer.effect(Chains, make)
  static readonly layer = (options: Options = {}) => Layer.provide(Chains.layerNoDeps, ProviderPools.layer(options))
}
