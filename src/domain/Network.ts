// Blockchain networks: what a relayer is bound to.
import { Schema } from "effect"
import { MaskedRpcConfig } from "./Rpc.ts"
import { text } from "./Text.ts"

export const NetworkType = Schema.Literals(["evm", "solana", "stellar"]).annotate({ identifier: "NetworkType" })
export type NetworkType = typeof NetworkType.Type

export const NetworkName = text(1, 64).pipe(Schema.brand("NetworkName"))
export type NetworkName = typeof NetworkName.Type

export const NetworkId = Schema.String.check(
  Schema.isPattern(/^(evm|solana|stellar):[^\s/\0]{1,64}$/u, { expected: "a network id such as evm:sepolia" })
).pipe(Schema.brand("NetworkId"))
export type NetworkId = typeof NetworkId.Type

export const networkId = (type: NetworkType, name: NetworkName) => NetworkId.make(`${type}:${name}`)

const common = {
  id: NetworkId,
  name: NetworkName,
  /** Used by the relayers that bring none of their own. */
  rpc_urls: Schema.Array(MaskedRpcConfig),
  explorer_urls: Schema.optionalKey(Schema.Array(Schema.String)),
  /** Milliseconds between two blocks, on average. */
  average_blocktime_ms: Schema.Int,
  is_testnet: Schema.Boolean,
  tags: Schema.optionalKey(Schema.Array(Schema.String))
}

export const EvmNetwork = Schema.Struct({
  ...common,
  network_type: Schema.tag("evm"),
  /** EIP-155. */
  chain_id: Schema.Int,
  /** Blocks on top of a transaction's block after which it is final for us. */
  required_confirmations: Schema.Int,
  /** `eip1559` where the chain prices by EIP-1559. */
  features: Schema.optionalKey(Schema.Array(Schema.String)),
  /** Of the native token. */
  symbol: Schema.String
}).annotate({ identifier: "EvmNetwork" })

export const SolanaNetwork = Schema.Struct({ ...common, network_type: Schema.tag("solana") }).annotate({
  identifier: "SolanaNetwork"
})

export const StellarNetwork = Schema.Struct({
  ...common,
  network_type: Schema.tag("stellar"),
  /** Part of what every transaction signs. */
  passphrase: Schema.String,
  horizon_url: Schema.optionalKey(Schema.String)
}).annotate({ identifier: "StellarNetwork" })

export const Network = Schema.Union([EvmNetwork, SolanaNetwork, StellarNetwork])
export type Network = typeof Network.Type

export class NetworkNotFound extends Schema.TaggedError<NetworkNotFound>()("NetworkNotFound", {}) {}
