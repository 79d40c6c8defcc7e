// Networks: configurations of chains that relayers are bound to, with the fields that they inherit and the requests that change them.
import { Effect, Result, Schema, SchemaTransformation, Struct } from "effect"
import { HttpUrl, MaskedRpcConfig, RpcConfig, ShownUrl } from "../chain/Rpc.ts"
import { decisive, harmless, labels as anyOrder, lowerLimit, providerUrls, upperLimit } from "../request/Change.ts"
import type { Judged, Meaning } from "../request/Change.ts"
import { field, measured } from "../request/Field.ts"
import { lacking } from "../request/Violations.ts"
import { applyMergePatch, BadRequest, immutableField } from "../request/Request.ts"
import type { Violation } from "../request/Request.ts"
import * as Shown from "../request/Shown.ts"
import { maybe, text } from "../request/Shown.ts"

// What identifies a network: its type and its name.

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

// The values that the fields of a network can have, and their documentation.

export interface FieldDocumentation<T> {
  readonly description: string
  readonly examples: ReadonlyArray<T>
}

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

/** Milliseconds of a unit of `finality_by_one`. */
const units = { m: 60_000, h: 3_600_000, d: 86_400_000 } as const

/** A duration, or the word that no time decides. At most 999 days. */
const FinalityByOne = Schema.String.check(
  Schema.isPattern(/^(?:[1-9][0-9]{0,2}[mhd]|never)$/u, { expected: "a duration such as 30m, 1h or 2d, or never" })
)

/** What decides if the network does not say it. */
const defaultFinalityByOne = "1h"

/** Milliseconds after which one provider decides alone that a transaction is final. */
export const finalityByOneOf = ({ finality_by_one = defaultFinalityByOne }: { readonly finality_by_one?: string }) => {
  if (finality_by_one === "never") return "never" as const
  const unit = finality_by_one.at(-1)
  return Number.parseInt(finality_by_one, 10) * (unit === "m" || unit === "d" ? units[unit] : units.h)
}

/** The fields of every network that a request can set. */
const RpcMethod = Schema.String.check(
  Schema.isPattern(/^([a-z0-9]{1,16}_[A-Za-z0-9_]{1,64}|[a-z][A-Za-z0-9]{2,63})$/u, {
    expected: "a JSON-RPC method such as eth_call or getHealth"
  })
)

const networkValues = {
  rpc_urls: Schema.Array(RequestedRpc).check(Schema.isBetweenLength(1, 100)),
  explorer_urls: Schema.Array(HttpUrl).check(Schema.isMaxLength(20)),
  private_rpc_urls: Schema.Array(RequestedRpc).check(Schema.isBetweenLength(1, 100)),
  /** At most an hour. */
  average_blocktime_ms: between(1, 3_600_000),
  is_testnet: Schema.Boolean,
  tags: labels,
  finality_by_one: FinalityByOne,
  rpc_methods: Schema.Array(RpcMethod).check(Schema.isMaxLength(200), Schema.isUnique())
}

/** Transactions of a solana relayer that may be in flight at once: seen ones do not count, so 64 are enough for most. */
const solanaWindow = between(1, 1000)

/** `MistypedAddresses.ts` checks its checksum. */
const ContractAddress = Schema.String.check(
  Schema.isPattern(/^C[A-Z2-7]{55}$/u, {
    expected: "a contract address: C and 55 letters and digits",
    // The address of a made-up contract: 32 bytes with the value 8.
    arbitraryConstraint: {
      patterns: [{ source: "^CAEAQCAIBAEAQCAIBAEAQCAIBAEAQCAIBAEAQCAIBAEAQCAIBAEAQMCJ$", flags: "" }]
    }
  })
)

const stellarValues = { fee_forwarder: ContractAddress }

const evmValues = {
  required_confirmations: between(0, 1_000_000),
  finality_tag: Schema.Literals(["safe", "finalized"]),
  transaction_window: between(1, 10_000),
  minimum_priority_fee: between(0, Number.MAX_SAFE_INTEGER),
  tip_cap: between(0, Number.MAX_SAFE_INTEGER),
  features: labels,
  symbol: text(1, 32)
}

/** The longest time without a second opinion. A network without the field decides after the default time. */
const decidesSooner: Meaning = {
  allowsMore: ({ before, after }) => {
    const millisOf = (finality_by_one: string | undefined): number => {
      const found = finalityByOneOf(finality_by_one === undefined ? {} : { finality_by_one })
      return found === "never" ? Infinity : found
    }
    return millisOf(after) < millisOf(before)
  }
}

/** Which chain it is. */
const chain: Meaning = { ...decisive, identifies: true }

const documentedFields = {
  from: {
    change: harmless,
    description: "Network of the same type that this one inherits from.",
    examples: ["sepolia"]
  },
  rpc_urls: {
    change: providerUrls,
    description: "Providers of the chain, for relayers without their own.",
    examples: [["https://rpc.example.com/v1/my-key"]]
  },
  private_rpc_urls: {
    change: providerUrls,
    description:
      "Endpoints that keep transactions private, for relayers without their own. They get `eth_sendRawTransaction`, `eth_chainId` and estimates alone, for relayers whose policy asks for private transactions, and for sends with `private`.",
    examples: [["https://private.example.com/v1/my-key"]]
  },
  explorer_urls: {
    change: harmless,
    description: "Block explorers, for people.",
    examples: [["https://sepolia.etherscan.io"]]
  },
  average_blocktime_ms: {
    change: harmless,
    description: "Milliseconds between two blocks, on average.",
    examples: [12_000]
  },
  is_testnet: { change: harmless, description: "Whether the network is a testnet.", examples: [true] },
  tags: { change: anyOrder, description: "Labels, for people.", examples: [["staging"]] },
  finality_by_one: {
    change: decidesSooner,
    description:
      "How long no second RPC URL has an opinion about a transaction before the one that is left decides alone that it is final: a number of minutes, hours or days, or `never`. The default is `1h`. With two RPC URLs, a duration is safe if one of them lies or one of them is silent, but not both.",
    examples: ["1h"]
  },
  chain_id: { change: chain, description: "Chain id (EIP-155).", examples: [11_155_111] },
  required_confirmations: {
    change: lowerLimit,
    description: "Blocks that must follow the block of a transaction before it is final.",
    examples: [6]
  },
  finality_tag: {
    change: harmless,
    description: "Block tag that makes a transaction final, instead of `required_confirmations`.",
    examples: ["finalized" as const]
  },
  transaction_window: {
    change: harmless,
    description:
      "Transactions of one account that may be in flight at once. The default is 64, and 4 with `no-mempool`. At most 10,000, and 1,000 on solana.",
    examples: [64]
  },
  minimum_priority_fee: {
    change: harmless,
    description: "Wei per gas that the nodes of the network demand as a priority fee.",
    examples: [25_000_000_000]
  },
  tip_cap: {
    change: upperLimit,
    description:
      "Wei per gas that the service offers at most as a priority fee, unless the request gives it. If absent, ten times the base fee, but at least 100 gwei, is the limit for relayers without a `gas_price_cap`.",
    examples: [200_000_000_000]
  },
  rpc_methods: {
    change: harmless,
    description:
      "JSON-RPC methods that `POST /relayers/{relayer_id}/rpc` passes on. If absent, methods that only read. No list lets it pass `sendTransaction` of stellar on.",
    examples: [["eth_call", "eth_getLogs"]]
  },
  features: {
    change: anyOrder,
    description:
      "Capabilities of the chain. `eip1559`: fees are priced by EIP-1559. `no-mempool`: nodes keep no transaction whose predecessor is missing. `eip7825`: a transaction has at most 2^24 gas. `eip7702`: transactions may carry authorizations of other accounts. `optimism-based`: data has a fee besides gas, which a contract of the chain names.",
    examples: [["eip1559"]]
  },
  symbol: { change: harmless, description: "Symbol of the native token.", examples: ["ETH"] },
  passphrase: {
    change: chain,
    description: "Network passphrase, which is part of every signature.",
    examples: ["Test SDF Network ; September 2015"]
  },
  horizon_url: {
    change: harmless,
    description: "URL of the Horizon server.",
    examples: ["https://horizon-testnet.stellar.org"]
  },
  fee_forwarder: {
    change: harmless,
    description:
      "Contract whose `forward` passes a call on and takes the fee of the relayer in a token. If absent, users cannot pay for calls of contracts in a token.",
    examples: ["CA3D5KRYM6CB7OWQ6TWYRR3Z4T7GNZLKERYNZGGA5SOAOPIFY6YQGAXE"]
  }
} as const satisfies Readonly<Record<string, FieldDocumentation<unknown> & Judged>>

/** A field of a response. */
const shownAs = <S extends Schema.Top>(schema: S, { description, examples }: FieldDocumentation<S["Encoded"]>) =>
  field(schema, description, ...examples)

const urls = Schema.Array(Shown.Url)

const Label = Shown.shaped(/^[a-z][a-z0-9-]{0,15}$/)

const shown = {
  id: NetworkId,
  name: NetworkName,
  from: Schema.optionalKey(shownAs(NetworkName, documentedFields.from)),
  source: field(
    Schema.Literals(["builtin", "overridden", "own"]),
    "`builtin`: part of the service. `overridden`: built-in, with changed fields. `own`: created by a request.",
    "builtin"
  ),
  rpc_urls: field(Schema.Array(MaskedRpcConfig), "Providers of the chain, with masked URLs."),
  explorer_urls: Schema.optionalKey(shownAs(urls, documentedFields.explorer_urls)),
  average_blocktime_ms: shownAs(networkValues.average_blocktime_ms, documentedFields.average_blocktime_ms),
  is_testnet: shownAs(Schema.Boolean, documentedFields.is_testnet),
  tags: Schema.optionalKey(shownAs(Schema.Array(Label), documentedFields.tags)),
  finality_by_one: Schema.optionalKey(shownAs(networkValues.finality_by_one, documentedFields.finality_by_one)),
  managed_by: Shown.managedBy
}

export const EvmNetwork = Schema.Struct({
  ...shown,
  network_type: networkTag("evm"),
  private_rpc_urls: Schema.optionalKey(
    field(Schema.Array(MaskedRpcConfig), "Endpoints that keep transactions private, with masked URLs. Absent: none.")
  ),
  chain_id: shownAs(between(1, Number.MAX_SAFE_INTEGER), documentedFields.chain_id),
  required_confirmations: shownAs(evmValues.required_confirmations, documentedFields.required_confirmations),
  finality_tag: Schema.optionalKey(shownAs(evmValues.finality_tag, documentedFields.finality_tag)),
  transaction_window: Schema.optionalKey(shownAs(evmValues.transaction_window, documentedFields.transaction_window)),
  minimum_priority_fee: Schema.optionalKey(
    shownAs(evmValues.minimum_priority_fee, documentedFields.minimum_priority_fee)
  ),
  tip_cap: Schema.optionalKey(shownAs(evmValues.tip_cap, documentedFields.tip_cap)),
  rpc_methods: Schema.optionalKey(
    shownAs(Schema.Array(Shown.shaped(/^eth_[a-zA-Z]{1,20}$/)), documentedFields.rpc_methods)
  ),
  features: Schema.optionalKey(shownAs(Schema.Array(Label), documentedFields.features)),
  symbol: shownAs(Shown.shaped(/^[A-Z]{2,6}$/), documentedFields.symbol)
}).annotate({ identifier: "EvmNetwork" })

export const SolanaNetwork = Schema.Struct({
  ...shown,
  network_type: networkTag("solana"),
  transaction_window: Schema.optionalKey(shownAs(solanaWindow, documentedFields.transaction_window)),
  rpc_methods: Schema.optionalKey(
    shownAs(Schema.Array(Shown.shaped(/^get[A-Z][a-z]{1,20}$/)), documentedFields.rpc_methods)
  )
}).annotate({ identifier: "SolanaNetwork" })

export const StellarNetwork = Schema.Struct({
  ...shown,
  network_type: networkTag("stellar"),
  passphrase: shownAs(Shown.Words, documentedFields.passphrase),
  horizon_url: Schema.optionalKey(shownAs(Shown.Url, documentedFields.horizon_url)),
  fee_forwarder: Schema.optionalKey(shownAs(stellarValues.fee_forwarder, documentedFields.fee_forwarder)),
  rpc_methods: Schema.optionalKey(
    shownAs(Schema.Array(Shown.shaped(/^get[A-Z][a-z]{1,20}$/)), documentedFields.rpc_methods)
  )
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

// Requests that create or change a network.

const inherited = "If absent, it is inherited."
const added = "Added to the inherited ones."

const but = <const E>(
  { change, description, examples }: Judged & { description: string; examples: E },
  more: string
) => ({ change, description: `${description} ${more}`, examples })

const requested = {
  name: NetworkName.schema,
  from: maybe(NetworkName.schema, documentedFields.from),
  rpc_urls: maybe(networkValues.rpc_urls, but(documentedFields.rpc_urls, inherited)),
  explorer_urls: maybe(networkValues.explorer_urls, but(documentedFields.explorer_urls, inherited)),
  average_blocktime_ms: maybe(
    networkValues.average_blocktime_ms,
    but(documentedFields.average_blocktime_ms, inherited)
  ),
  is_testnet: maybe(networkValues.is_testnet, but(documentedFields.is_testnet, inherited)),
  tags: maybe(networkValues.tags, but(documentedFields.tags, added)),
  finality_by_one: maybe(networkValues.finality_by_one, but(documentedFields.finality_by_one, inherited))
}

const createdNetwork = Schema.Union([
  Schema.Struct({
    ...requested,
    network_type: networkTag("evm"),
    private_rpc_urls: maybe(networkValues.private_rpc_urls, but(documentedFields.private_rpc_urls, inherited)),
    chain_id: maybe(between(1, Number.MAX_SAFE_INTEGER), but(documentedFields.chain_id, inherited)),
    required_confirmations: maybe(
      evmValues.required_confirmations,
      but(documentedFields.required_confirmations, inherited)
    ),
    finality_tag: maybe(evmValues.finality_tag, but(documentedFields.finality_tag, inherited)),
    transaction_window: maybe(evmValues.transaction_window, but(documentedFields.transaction_window, inherited)),
    minimum_priority_fee: measured(
      maybe(evmValues.minimum_priority_fee, but(documentedFields.minimum_priority_fee, inherited)),
      "price"
    ),
    tip_cap: measured(maybe(evmValues.tip_cap, but(documentedFields.tip_cap, inherited)), "price"),
    rpc_methods: maybe(networkValues.rpc_methods, but(documentedFields.rpc_methods, inherited)),
    features: maybe(evmValues.features, but(documentedFields.features, added)),
    symbol: maybe(evmValues.symbol, but(documentedFields.symbol, inherited))
  }).annotate({ identifier: "CreateEvmNetworkRequest" }),
  Schema.Struct({
    ...requested,
    network_type: networkTag("solana"),
    transaction_window: maybe(solanaWindow, but(documentedFields.transaction_window, inherited)),
    rpc_methods: maybe(networkValues.rpc_methods, but(documentedFields.rpc_methods, inherited))
  }).annotate({ identifier: "CreateSolanaNetworkRequest" }),
  Schema.Struct({
    ...requested,
    network_type: networkTag("stellar"),
    passphrase: maybe(text(1, 256), but(documentedFields.passphrase, inherited)),
    horizon_url: maybe(ShownUrl, but(documentedFields.horizon_url, inherited)),
    fee_forwarder: maybe(stellarValues.fee_forwarder, but(documentedFields.fee_forwarder, inherited)),
    rpc_methods: maybe(networkValues.rpc_methods, but(documentedFields.rpc_methods, inherited))
  }).annotate({ identifier: "CreateStellarNetworkRequest" })
])

/** Fields that a network must have: its own, or those of the network in its `from`. */
const requiredFields = {
  evm: ["rpc_urls", "average_blocktime_ms", "chain_id", "required_confirmations", "symbol"],
  solana: ["rpc_urls", "average_blocktime_ms"],
  stellar: ["rpc_urls", "average_blocktime_ms", "passphrase"]
} as const

const isRequired = (field: string): Violation => ({
  field,
  message: "is required: give it, or name a network in from that has it"
})

const isNetworkType = Schema.is(NetworkType)

/** What a network has to have of its own, because it inherits nothing. */
export const ownFieldsLacking = (given: Readonly<Record<string, unknown>>): ReadonlyArray<Violation> => {
  const { from, network_type } = given
  if (!isNetworkType(network_type) || (from ?? undefined) !== undefined) return []
  return requiredFields[network_type].filter((field) => (given[field] ?? undefined) === undefined).map(isRequired)
}

export const CreateNetwork = lacking(createdNetwork, ownFieldsLacking).annotate({
  identifier: "CreateNetworkRequest",
  description: "A network to create. A field that is absent here and in the network of `from` must have a default."
})
export type CreateNetwork = typeof CreateNetwork.Type

/** A field of a patch. Null removes the value, so that the inherited or built-in one applies again. */
const patched = <S extends Schema.Constraint>(schema: S, documentation: FieldDocumentation<S["Encoded"]>) =>
  field(
    Schema.optionalKey(Schema.NullOr(schema)),
    `${documentation.description} Null restores the inherited or built-in value.`,
    ...documentation.examples
  )

/** A merge patch (RFC 7396) of the fields that the network defines itself. */
export const UpdateNetwork = Schema.Struct({
  from: patched(NetworkName.schema, but(documentedFields.from, "Not for built-in networks.")),
  rpc_urls: patched(networkValues.rpc_urls, documentedFields.rpc_urls),
  private_rpc_urls: patched(networkValues.private_rpc_urls, documentedFields.private_rpc_urls),
  explorer_urls: patched(networkValues.explorer_urls, documentedFields.explorer_urls),
  average_blocktime_ms: patched(networkValues.average_blocktime_ms, documentedFields.average_blocktime_ms),
  is_testnet: patched(networkValues.is_testnet, documentedFields.is_testnet),
  tags: patched(networkValues.tags, documentedFields.tags),
  finality_by_one: patched(networkValues.finality_by_one, documentedFields.finality_by_one),
  required_confirmations: patched(evmValues.required_confirmations, documentedFields.required_confirmations),
  finality_tag: patched(evmValues.finality_tag, documentedFields.finality_tag),
  transaction_window: patched(evmValues.transaction_window, documentedFields.transaction_window),
  minimum_priority_fee: measured(
    patched(evmValues.minimum_priority_fee, documentedFields.minimum_priority_fee),
    "price"
  ),
  tip_cap: patched(evmValues.tip_cap, documentedFields.tip_cap),
  rpc_methods: patched(networkValues.rpc_methods, documentedFields.rpc_methods),
  features: patched(evmValues.features, documentedFields.features),
  symbol: patched(evmValues.symbol, documentedFields.symbol),
  horizon_url: patched(ShownUrl, documentedFields.horizon_url),
  fee_forwarder: patched(stellarValues.fee_forwarder, documentedFields.fee_forwarder),
  id: immutableField,
  name: immutableField,
  network_type: immutableField,
  source: immutableField,
  managed_by: immutableField,
  chain_id: immutableField,
  passphrase: immutableField
})
  .check(Schema.isMinProperties(1, { message: "at least one field is required" }))
  .annotate({ identifier: "UpdateNetworkRequest" })
export type UpdateNetwork = typeof UpdateNetwork.Type

// The fields of a network: those that it defines itself, and those that it inherits.

const named = { name: NetworkName.schema, from: Schema.optionalKey(NetworkName.schema) }

/** The fields that a network defines itself; for a built-in network, the overridden ones. RPC URLs are masked. */
export const NetworkDefinition = Schema.Union([
  Schema.Struct({
    ...Struct.map(Struct.omit(EvmNetwork.fields, ["id", "source"]), Schema.optionalKey),
    ...named,
    network_type: Schema.tag("evm")
  }),
  Schema.Struct({
    ...Struct.map(Struct.omit(SolanaNetwork.fields, ["id", "source"]), Schema.optionalKey),
    ...named,
    network_type: Schema.tag("solana")
  }),
  Schema.Struct({
    ...Struct.map(Struct.omit(StellarNetwork.fields, ["id", "source"]), Schema.optionalKey),
    ...named,
    network_type: Schema.tag("stellar")
  })
])
export type NetworkDefinition = typeof NetworkDefinition.Type

/** Networks of one type, by name. */
export type FindDefinition = (name: string) => NetworkDefinition | undefined

/** The network, the network that it inherits from, and so on. */
export const ancestryOf = (
  network: NetworkDefinition,
  find: FindDefinition
): Result.Result<ReadonlyArray<NetworkDefinition>, Violation> => {
  const found = [network]
  const names = new Set([network.name])
  let { from } = network
  while (from !== undefined) {
    if (names.has(from)) {
      return Result.fail({ field: "from", message: "would make the network inherit from itself" })
    }
    const parent = find(from)
    if (parent === undefined) {
      return Result.fail({ field: "from", message: `no ${network.network_type} network of this name` })
    }
    found.push(parent)
    names.add(from)
    from = parent.from
  }
  return Result.succeed(found)
}

interface Labels {
  readonly tags?: ReadonlyArray<string>
  readonly features?: ReadonlyArray<string>
}

const union = (parent: ReadonlyArray<string> = [], child: ReadonlyArray<string> = []) => [
  ...new Set([...parent, ...child])
]

const inherit = (parent: NetworkDefinition & Labels, child: NetworkDefinition & Labels): NetworkDefinition => ({
  ...parent,
  ...child,
  ...(parent.tags === undefined ? {} : { tags: union(parent.tags, child.tags) }),
  ...(parent.features === undefined ? {} : { features: union(parent.features, child.features) })
})

/** The own and the inherited fields. Tags and features are joined, the inherited ones first. */
export const withInherited = (
  network: NetworkDefinition,
  find: FindDefinition
): Result.Result<NetworkDefinition, Violation> =>
  Result.map(ancestryOf(network, find), (found) => found.reduceRight(inherit))

const decodeNetwork = Schema.decodeUnknownSync(Network)

/** The network as responses show it. Fails with every required field that is missing. */
export const completeNetwork = (
  resolved: NetworkDefinition,
  source: Network["source"]
): Result.Result<Network, ReadonlyArray<Violation>> => {
  const missing = requiredFields[resolved.network_type].filter((field) => !(field in resolved))
  if (missing.length === 0) {
    const id = networkId(resolved.network_type, resolved.name)
    return Result.succeed(decodeNetwork({ is_testnet: false, ...resolved, id, source }))
  }
  return Result.fail(missing.map(isRequired))
}

// Applies merge patches to networks.

const decodeDefinition = Schema.decodeUnknownEffect(NetworkDefinition, { errors: "all", onExcessProperty: "error" })

/** Fails with `BadRequest` if the patch has fields of another network type. */
export const applyNetworkPatch = (
  definition: NetworkDefinition,
  patch: UpdateNetwork
): Effect.Effect<NetworkDefinition, BadRequest> =>
  decodeDefinition(applyMergePatch(definition, patch)).pipe(
    Effect.mapError(({ issue }) => BadRequest.fromIssue(issue, "body"))
  )

const chainOf = (network: Network) => {
  if (network.network_type === "evm") return ["chain_id", network.chain_id] as const
  return network.network_type === "stellar" ? (["passphrase", network.passphrase] as const) : undefined
}

/** Relayers and transactions are bound to a chain, so a change of a network must not change its chain, not even by `from`. */
export const chainViolations = (before: Network, after: Network): ReadonlyArray<Violation> => {
  const was = chainOf(before)
  return was === undefined || was[1] === chainOf(after)?.[1]
    ? []
    : [{ field: "from", message: `would change ${was[0]}, which cannot be changed` }]
}
