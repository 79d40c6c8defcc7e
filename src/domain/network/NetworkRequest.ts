// Requests that create or change a network.
import { Schema } from "effect"
import { ShownUrl } from "../chain/Rpc.ts"
import { field } from "../request/Field.ts"
import { immutable } from "../request/MergePatch.ts"
import { maybe, text } from "../request/Text.ts"
import { between, documented, evmValues, solanaWindow, stellarValues, values } from "./NetworkFields.ts"
import type { Documentation } from "./NetworkFields.ts"
import { NetworkName, networkTag } from "./NetworkId.ts"

const inherited = "If absent, it is inherited."
const added = "Added to the inherited ones."

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
  tags: maybe(values.tags, but(documented.tags, added)),
  finality_by_one: maybe(values.finality_by_one, but(documented.finality_by_one, inherited))
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
    tip_cap: maybe(evmValues.tip_cap, but(documented.tip_cap, inherited)),
    rpc_methods: maybe(values.rpc_methods, but(documented.rpc_methods, inherited)),
    features: maybe(evmValues.features, but(documented.features, added)),
    symbol: maybe(evmValues.symbol, but(documented.symbol, inherited))
  }).annotate({ identifier: "CreateEvmNetworkRequest" }),
  Schema.Struct({
    ...requested,
    network_type: networkTag("solana"),
    transaction_window: maybe(solanaWindow, but(documented.transaction_window, inherited)),
    rpc_methods: maybe(values.rpc_methods, but(documented.rpc_methods, inherited))
  }).annotate({ identifier: "CreateSolanaNetworkRequest" }),
  Schema.Struct({
    ...requested,
    network_type: networkTag("stellar"),
    passphrase: maybe(text(1, 256), but(documented.passphrase, inherited)),
    horizon_url: maybe(ShownUrl, but(documented.horizon_url, inherited)),
    fee_forwarder: maybe(stellarValues.fee_forwarder, but(documented.fee_forwarder, inherited)),
    rpc_methods: maybe(values.rpc_methods, but(documented.rpc_methods, inherited))
  }).annotate({ identifier: "CreateStellarNetworkRequest" })
]).annotate({
  identifier: "CreateNetworkRequest",
  message: "network_type must be evm, solana or stellar",
  description: "A network to create. A field that is absent here and in the network of `from` must have a default."
})
export type CreateNetwork = typeof CreateNetwork.Type

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
  finality_by_one: patched(values.finality_by_one, documented.finality_by_one),
  required_confirmations: patched(evmValues.required_confirmations, documented.required_confirmations),
  finality_tag: patched(evmValues.finality_tag, documented.finality_tag),
  transaction_window: patched(evmValues.transaction_window, documented.transaction_window),
  minimum_priority_fee: patched(evmValues.minimum_priority_fee, documented.minimum_priority_fee),
  tip_cap: patched(evmValues.tip_cap, documented.tip_cap),
  rpc_methods: patched(values.rpc_methods, documented.rpc_methods),
  features: patched(evmValues.features, documented.features),
  symbol: patched(evmValues.symbol, documented.symbol),
  horizon_url: patched(ShownUrl, documented.horizon_url),
  fee_forwarder: patched(stellarValues.fee_forwarder, documented.fee_forwarder),
  id: immutable,
  name: immutable,
  network_type: immutable,
  source: immutable,
  managed_by: immutable,
  chain_id: immutable,
  passphrase: immutable
})
  .check(Schema.isMinProperties(1, { message: "at least one field is required" }))
  .annotate({ identifier: "UpdateNetworkRequest" })
export type UpdateNetwork = typeof UpdateNetwork.Type
