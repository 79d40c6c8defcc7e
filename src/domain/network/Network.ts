// Networks: configurations of chains that relayers are bound to.
import { Schema, SchemaTransformation } from "effect"
import { immutable } from "../request/MergePatch.ts"
import { HttpUrl, MaskedRpcConfig, RpcConfig, ShownUrl } from "../chain/Rpc.ts"
import { field } from "../request/Field.ts"
import * as Shown from "../request/Shown.ts"
import { maybe, text } from "../request/Text.ts"

export const NetworkType = Schema.Literals(["evm", "solana", "stellar"]).annotate({
  identifier: "NetworkType",
  message: "Expected evm, solana or stellar",
  description: "The family of chains.",
  examples: ["evm"]
})
export type NetworkType = typeof NetworkType.Type

/** `tag` of a network type, for the structs of one type. */
export const networkTag = <const T extends NetworkType>(type: T) =>
  field(Schema.tag(type), "The family of chains.", type)

/** A name may contain every character that an id may contain. */
export const NetworkName = text(1, 64)
  .check(Schema.isPattern(/^[^\s/]+$/u, { expected: "a name without white space and slashes" }))
  .annotate({ description: "Name of the network, unique for its type.", examples: ["sepolia"] })
  .pipe(Schema.brand("NetworkName"))
export type NetworkName = typeof NetworkName.Type

export const NetworkId = Schema.String.check(
  Schema.isPattern(/^(evm|solana|stellar):[^\s/\0]{1,64}$/u, { expected: "a network id such as evm:sepolia" })
)
  .annotate({ description: "Identifier of the network: its type and its name.", examples: ["evm:sepolia"] })
  .pipe(Schema.brand("NetworkId"))
export type NetworkId = typeof NetworkId.Type

export const networkId = (type: NetworkType, name: string) => NetworkId.make(`${type}:${name}`)

/** The id of the network of that name and the same type. */
export const siblingId = (id: NetworkId, name: string) => NetworkId.make(`${id.slice(0, id.indexOf(":"))}:${name}`)

/** A URL without a weight has the default weight. */
const RequestedRpc = Schema.Union([
  Schema.String.annotate({ format: "uri", description: "URL of the provider.", examples: ["https://rpc.example.com"] }),
  Schema.toEncoded(RpcConfig)
])
  .annotate({
    identifier: "RpcUrlRequest",
    message: "Expected a URL, or an object of url and weight",
    description: "A provider of the chain: a URL, or an object of `url` and `weight`."
  })
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

/** The fields of every network that a request can set. */
const values = {
  rpc_urls: Schema.Array(RequestedRpc).check(Schema.isBetweenLength(1, 100)),
  explorer_urls: Schema.Array(HttpUrl).check(Schema.isMaxLength(20)),
  /** At most an hour. */
  average_blocktime_ms: between(1, 3_600_000),
  is_testnet: Schema.Boolean,
  tags: labels
}

const RpcMethod = Schema.String.check(
  Schema.isPattern(/^[a-z0-9]{1,16}_[A-Za-z0-9_]{1,64}$/u, { expected: "a JSON-RPC method such as eth_call" })
)

const evmValues = {
  required_confirmations: between(0, 1_000_000),
  finality_tag: Schema.Literals(["safe", "finalized"]),
  transaction_window: between(1, 10_000),
  minimum_priority_fee: between(0, Number.MAX_SAFE_INTEGER),
  rpc_methods: Schema.Array(RpcMethod).check(Schema.isMaxLength(200), Schema.isUnique()),
  features: labels,
  symbol: text(1, 32)
}

const inherited = "If absent, it is inherited."
const added = "Added to the inherited ones."

const documented = {
  from: { description: "Network of the same type that this one inherits from.", examples: ["sepolia"] },
  rpc_urls: {
    description: "Providers of the chain, for relayers without their own.",
    examples: [["https://rpc.example.com/v1/my-key"]]
  },
  explorer_urls: { description: "Block explorers, for people.", examples: [["https://sepolia.etherscan.io"]] },
  average_blocktime_ms: { description: "Milliseconds between two blocks, on average.", examples: [12_000] },
  is_testnet: { description: "Whether the network is a testnet.", examples: [true] },
  tags: { description: "Labels, for people.", examples: [["staging"]] },
  chain_id: { description: "Chain id (EIP-155).", examples: [11_155_111] },
  required_confirmations: {
    description: "Blocks that must follow the block of a transaction before it is final.",
    examples: [6]
  },
  finality_tag: {
    description: "Block tag that makes a transaction final, instead of `required_confirmations`.",
    examples: ["finalized" as const]
  },
  transaction_window: {
    description:
      "Transactions of one account that may be in flight at once. The default is 64, and 4 with `no-mempool`.",
    examples: [64]
  },
  minimum_priority_fee: {
    description: "Wei per gas that the nodes of the network demand as a priority fee.",
    examples: [25_000_000_000]
  },
  rpc_methods: {
    description:
      "JSON-RPC methods that `POST /relayers/{relayer_id}/rpc` passes on. If absent, methods that only read.",
    examples: [["eth_call", "eth_getLogs"]]
  },
  features: {
    description:
      "Capabilities of the chain. `eip1559`: fees are priced by EIP-1559. `no-mempool`: nodes keep no transaction whose predecessor is missing. `eip7825`: a transaction has at most 2^24 gas. `optimism-based`: a contract of the chain says what data costs beside gas.",
    examples: [["eip1559"]]
  },
  symbol: { description: "Symbol of the native token.", examples: ["ETH"] },
  passphrase: {
    description: "Network passphrase, which is part of every signature.",
    examples: ["Test SDF Network ; September 2015"]
  },
  horizon_url: { description: "URL of the Horizon server.", examples: ["https://horizon-testnet.stellar.org"] }
} as const

const but = <const E>({ description, examples }: { description: string; examples: E }, more: string) => ({
  description: `${description} ${more}`,
  examples
})

const requested = {
  name: NetworkName.schema,
  from: maybe(NetworkName.schema, documented.from),
  rpc_urls: maybe(values.rpc_urls, but(documented.rpc_urls, inherited)),
  explorer_urls: maybe(values.explorer_urls, but(documented.explorer_urls, inherited)),
  average_blocktime_ms: maybe(values.average_blocktime_ms, but(documented.average_blocktime_ms, inherited)),
  is_testnet: maybe(values.is_testnet, but(documented.is_testnet, inherited)),
  tags: maybe(values.tags, but(documented.tags, added))
}

export const CreateNetwork = Schema.Union([
  Schema.Struct({
    ...requested,
    network_type: networkTag("evm"),
    chain_id: maybe(between(1, Number.MAX_SAFE_INTEGER), but(documented.chain_id, inherited)),
    required_confirmations: maybe(evmValues.required_confirmations, but(documented.required_confirmations, inherited)),
    finality_tag: maybe(evmValues.finality_tag, but(documented.finality_tag, inherited)),
    transaction_window: maybe(evmValues.transaction_window, but(documented.transaction_window, inherited)),
    minimum_priority_fee: maybe(evmValues.minimum_priority_fee, but(documented.minimum_priority_fee, inherited)),
    rpc_methods: maybe(evmValues.rpc_methods, but(documented.rpc_methods, inherited)),
    features: maybe(evmValues.features, but(documented.features, added)),
    symbol: maybe(evmValues.symbol, but(documented.symbol, inherited))
  }).annotate({ identifier: "CreateEvmNetworkRequest" }),
  Schema.Struct({ ...requested, network_type: networkTag("solana") }).annotate({
    identifier: "CreateSolanaNetworkRequest"
  }),
  Schema.Struct({
    ...requested,
    network_type: networkTag("stellar"),
    passphrase: maybe(text(1, 256), but(documented.passphrase, inherited)),
    horizon_url: maybe(ShownUrl, but(documented.horizon_url, inherited))
  }).annotate({ identifier: "CreateStellarNetworkRequest" })
]).annotate({
  identifier: "CreateNetworkRequest",
  message: "network_type must be evm, solana or stellar",
  description: "A network to create. A field that is absent here and in the network of `from` must have a default."
})
export type CreateNetwork = typeof CreateNetwork.Type

interface Documentation<T> {
  readonly description: string
  readonly examples: ReadonlyArray<T>
}

/** A field of a patch. Null removes the value, so that the inherited or built-in one applies again. */
const patched = <S extends Schema.Constraint>(schema: S, documentation: Documentation<S["Encoded"]>) =>
  field(
    Schema.optionalKey(Schema.NullOr(schema)),
    `${documentation.description} Null restores the inherited or built-in value.`,
    ...documentation.examples
  )

/** A merge patch (RFC 7396) of the fields that the network defines itself. */
export const UpdateNetwork = Schema.Struct({
  from: patched(NetworkName.schema, but(documented.from, "Not for built-in networks.")),
  rpc_urls: patched(values.rpc_urls, documented.rpc_urls),
  explorer_urls: patched(values.explorer_urls, documented.explorer_urls),
  average_blocktime_ms: patched(values.average_blocktime_ms, documented.average_blocktime_ms),
  is_testnet: patched(values.is_testnet, documented.is_testnet),
  tags: patched(values.tags, documented.tags),
  required_confirmations: patched(evmValues.required_confirmations, documented.required_confirmations),
  finality_tag: patched(evmValues.finality_tag, documented.finality_tag),
  transaction_window: patched(evmValues.transaction_window, documented.transaction_window),
  minimum_priority_fee: patched(evmValues.minimum_priority_fee, documented.minimum_priority_fee),
  rpc_methods: patched(evmValues.rpc_methods, documented.rpc_methods),
  features: patched(evmValues.features, documented.features),
  symbol: patched(evmValues.symbol, documented.symbol),
  horizon_url: patched(ShownUrl, documented.horizon_url),
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

/** A field of a response. */
const shownAs = <S extends Schema.Top>(schema: S, { description, examples }: Documentation<S["Encoded"]>) =>
  field(schema, description, ...examples)

const urls = Schema.Array(Shown.Url)

const Label = Shown.shaped(/^[a-z][a-z0-9-]{0,15}$/)

const shown = {
  id: NetworkId,
  name: NetworkName,
  from: Schema.optionalKey(shownAs(NetworkName, documented.from)),
  source: field(
    Schema.Literals(["builtin", "overridden", "own"]),
    "`builtin`: part of the service. `overridden`: built-in, with changed fields. `own`: created by a request.",
    "builtin"
  ),
  rpc_urls: field(Schema.Array(MaskedRpcConfig), "Providers of the chain, with masked URLs."),
  explorer_urls: Schema.optionalKey(shownAs(urls, documented.explorer_urls)),
  average_blocktime_ms: shownAs(values.average_blocktime_ms, documented.average_blocktime_ms),
  is_testnet: shownAs(Schema.Boolean, documented.is_testnet),
  tags: Schema.optionalKey(shownAs(Schema.Array(Label), documented.tags))
}

export const EvmNetwork = Schema.Struct({
  ...shown,
  network_type: networkTag("evm"),
  chain_id: shownAs(between(1, Number.MAX_SAFE_INTEGER), documented.chain_id),
  required_confirmations: shownAs(evmValues.required_confirmations, documented.required_confirmations),
  finality_tag: Schema.optionalKey(shownAs(evmValues.finality_tag, documented.finality_tag)),
  transaction_window: Schema.optionalKey(shownAs(evmValues.transaction_window, documented.transaction_window)),
  minimum_priority_fee: Schema.optionalKey(shownAs(evmValues.minimum_priority_fee, documented.minimum_priority_fee)),
  rpc_methods: Schema.optionalKey(shownAs(Schema.Array(Shown.shaped(/^eth_[a-zA-Z]{1,20}$/)), documented.rpc_methods)),
  features: Schema.optionalKey(shownAs(Schema.Array(Label), documented.features)),
  symbol: shownAs(Shown.shaped(/^[A-Z]{2,6}$/), documented.symbol)
}).annotate({ identifier: "EvmNetwork" })

export const SolanaNetwork = Schema.Struct({ ...shown, network_type: networkTag("solana") }).annotate({
  identifier: "SolanaNetwork"
})

export const StellarNetwork = Schema.Struct({
  ...shown,
  network_type: networkTag("stellar"),
  passphrase: shownAs(Shown.Words, documented.passphrase),
  horizon_url: Schema.optionalKey(shownAs(Shown.Url, documented.horizon_url))
}).annotate({ identifier: "StellarNetwork" })

/** A network with all inherited fields. */
export const Network = Schema.Union([EvmNetwork, SolanaNetwork, StellarNetwork]).annotate({
  identifier: "Network",
  description: "The configuration of a chain, with all inherited fields."
})
export type Network = typeof Network.Type

export class NetworkNotFound extends Schema.TaggedError<NetworkNotFound>()("NetworkNotFound", {}) {
  override readonly message = "no network has this id"
}

export class NetworkIdTaken extends Schema.TaggedError<NetworkIdTaken>()("NetworkIdTaken", {}) {
  override readonly message = "a network of this type has this name already; choose another name"
}

/** Relayers use the network, or other networks inherit from it. */
export class NetworkInUse extends Schema.TaggedError<NetworkInUse>()("NetworkInUse", {
  /** Names what uses the network. */
  error: Shown.Words
}) {
  override readonly message = this.error
}
