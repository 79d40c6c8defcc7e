// Blockchain networks: what a relayer is bound to.
import { Schema, SchemaTransformation } from "effect"
import { immutable } from "../request/MergePatch.ts"
import { HttpUrl, MaskedRpcConfig, RpcConfig, ShownUrl } from "../chain/Rpc.ts"
import { maybe, text } from "../request/Text.ts"

export const NetworkType = Schema.Literals(["evm", "solana", "stellar"]).annotate({
  identifier: "NetworkType",
  message: "Expected evm, solana or stellar"
})
export type NetworkType = typeof NetworkType.Type

/** Whatever an id can hold. */
export const NetworkName = text(1, 64)
  .check(Schema.isPattern(/^[^\s/]+$/u, { expected: "a name without white space and slashes" }))
  .pipe(Schema.brand("NetworkName"))
export type NetworkName = typeof NetworkName.Type

export const NetworkId = Schema.String.check(
  Schema.isPattern(/^(evm|solana|stellar):[^\s/\0]{1,64}$/u, { expected: "a network id such as evm:sepolia" })
).pipe(Schema.brand("NetworkId"))
export type NetworkId = typeof NetworkId.Type

export const networkId = (type: NetworkType, name: NetworkName) => NetworkId.make(`${type}:${name}`)

/** Of the network of that name that has the same type. */
export const siblingId = (id: NetworkId, name: NetworkName) => NetworkId.make(`${id.slice(0, id.indexOf(":"))}:${name}`)

/** A URL alone has the weight of one that brings none. */
const RequestedRpc = Schema.Union([Schema.String, Schema.toEncoded(RpcConfig)])
  .annotate({ identifier: "RpcUrlRequest", message: "Expected a URL, or an object of url and weight" })
  .pipe(
    Schema.decodeTo(
      RpcConfig,
      SchemaTransformation.transform({
        decode: (given: string | typeof RpcConfig.Encoded) => (typeof given === "string" ? { url: given } : given),
        encode: (config): string | typeof RpcConfig.Encoded => config
      })
    )
  )

const between = (minimum: number, maximum: number) => Schema.Int.check(Schema.isBetween({ minimum, maximum }))

const labels = Schema.Array(text(1, 64)).check(Schema.isMaxLength(100), Schema.isUnique())

/** What can be given of every network, and changed. */
const values = {
  /** Used by the relayers that bring none of their own. */
  rpc_urls: Schema.Array(RequestedRpc).check(Schema.isBetweenLength(1, 100)),
  explorer_urls: Schema.Array(HttpUrl).check(Schema.isMaxLength(20)),
  /** Milliseconds between two blocks, on average. */
  average_blocktime_ms: between(1, 3_600_000),
  is_testnet: Schema.Boolean,
  tags: labels
}

const evmValues = {
  /** Blocks on top of a transaction's block after which it is final for us. */
  required_confirmations: between(0, 1_000_000),
  /** `eip1559` where the chain prices by EIP-1559. */
  features: labels,
  /** Of the native token. */
  symbol: text(1, 32)
}

const requested = {
  name: NetworkName,
  /** The network, of the same type, that gives what this one does not bring. */
  from: maybe(NetworkName),
  rpc_urls: maybe(values.rpc_urls),
  explorer_urls: maybe(values.explorer_urls),
  average_blocktime_ms: maybe(values.average_blocktime_ms),
  /** Absent here and in the network that this one is from: no. */
  is_testnet: maybe(values.is_testnet),
  /** Added to those of the network that this one is from. */
  tags: maybe(values.tags)
}

export const CreateNetwork = Schema.Union([
  Schema.Struct({
    ...requested,
    network_type: Schema.tag("evm"),
    /** EIP-155. */
    chain_id: maybe(between(1, Number.MAX_SAFE_INTEGER)),
    required_confirmations: maybe(evmValues.required_confirmations),
    /** Added to those of the network that this one is from. */
    features: maybe(evmValues.features),
    symbol: maybe(evmValues.symbol)
  }).annotate({ identifier: "CreateEvmNetworkRequest" }),
  Schema.Struct({ ...requested, network_type: Schema.tag("solana") }).annotate({
    identifier: "CreateSolanaNetworkRequest"
  }),
  Schema.Struct({
    ...requested,
    network_type: Schema.tag("stellar"),
    /** Part of what every transaction signs. */
    passphrase: maybe(text(1, 256)),
    horizon_url: maybe(ShownUrl)
  }).annotate({ identifier: "CreateStellarNetworkRequest" })
]).annotate({ message: "network_type must be evm, solana or stellar" })
export type CreateNetwork = typeof CreateNetwork.Type

/** A field of a patch: null takes away what the network itself says, so that it is inherited, or built in, again. */
const patched = <S extends Schema.Constraint>(schema: S) => Schema.optionalKey(Schema.NullOr(schema))

/** A merge patch (RFC 7396) over what the network itself says. */
export const UpdateNetwork = Schema.Struct({
  /** Not of a network that is built in. */
  from: patched(NetworkName),
  rpc_urls: patched(values.rpc_urls),
  explorer_urls: patched(values.explorer_urls),
  average_blocktime_ms: patched(values.average_blocktime_ms),
  is_testnet: patched(values.is_testnet),
  tags: patched(values.tags),
  required_confirmations: patched(evmValues.required_confirmations),
  features: patched(evmValues.features),
  symbol: patched(evmValues.symbol),
  horizon_url: patched(ShownUrl),
  id: immutable,
  name: immutable,
  network_type: immutable,
  source: immutable,
  chain_id: immutable,
  passphrase: immutable
})
  .check(Schema.isMinProperties(1, { message: "name at least one field" }))
  .annotate({ identifier: "UpdateNetworkRequest" })
export type UpdateNetwork = typeof UpdateNetwork.Type

const shown = {
  id: NetworkId,
  name: NetworkName,
  from: Schema.optionalKey(NetworkName),
  /** Overridden: built in, with changes of the team's. */
  source: Schema.Literals(["builtin", "overridden", "own"]),
  rpc_urls: Schema.Array(MaskedRpcConfig),
  explorer_urls: Schema.optionalKey(Schema.Array(Schema.String)),
  average_blocktime_ms: Schema.Int,
  is_testnet: Schema.Boolean,
  tags: Schema.optionalKey(Schema.Array(Schema.String))
}

export const EvmNetwork = Schema.Struct({
  ...shown,
  network_type: Schema.tag("evm"),
  chain_id: Schema.Int,
  required_confirmations: Schema.Int,
  features: Schema.optionalKey(Schema.Array(Schema.String)),
  symbol: Schema.String
}).annotate({ identifier: "EvmNetwork" })

export const SolanaNetwork = Schema.Struct({ ...shown, network_type: Schema.tag("solana") }).annotate({
  identifier: "SolanaNetwork"
})

export const StellarNetwork = Schema.Struct({
  ...shown,
  network_type: Schema.tag("stellar"),
  passphrase: Schema.String,
  horizon_url: Schema.optionalKey(Schema.String)
}).annotate({ identifier: "StellarNetwork" })

/** With everything that it inherits. */
export const Network = Schema.Union([EvmNetwork, SolanaNetwork, StellarNetwork])
export type Network = typeof Network.Type

export class NetworkNotFound extends Schema.TaggedError<NetworkNotFound>()("NetworkNotFound", {}) {}

export class NetworkIdTaken extends Schema.TaggedError<NetworkIdTaken>()("NetworkIdTaken", {}) {}

/** Relayers are bound to it, or other networks inherit from it. */
export class NetworkInUse extends Schema.TaggedError<NetworkInUse>()("NetworkInUse", {
  /** Names them. */
  error: Schema.String
}) {}
