// Networks: configurations of chains that relayers are bound to.
import { Schema } from "effect"
import { MaskedRpcConfig } from "../chain/Rpc.ts"
import { field } from "../request/Field.ts"
import * as Shown from "../request/Shown.ts"
import { between, documented, evmValues, solanaWindow, stellarValues, values } from "./NetworkFields.ts"
import type { Documentation } from "./NetworkFields.ts"
import { NetworkId, NetworkName, networkTag } from "./NetworkId.ts"

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
  tags: Schema.optionalKey(shownAs(Schema.Array(Label), documented.tags)),
  finality_by_one: Schema.optionalKey(shownAs(values.finality_by_one, documented.finality_by_one)),
  managed_by: Shown.managedBy
}

export const EvmNetwork = Schema.Struct({
  ...shown,
  network_type: networkTag("evm"),
  chain_id: shownAs(between(1, Number.MAX_SAFE_INTEGER), documented.chain_id),
  required_confirmations: shownAs(evmValues.required_confirmations, documented.required_confirmations),
  finality_tag: Schema.optionalKey(shownAs(evmValues.finality_tag, documented.finality_tag)),
  transaction_window: Schema.optionalKey(shownAs(evmValues.transaction_window, documented.transaction_window)),
  minimum_priority_fee: Schema.optionalKey(shownAs(evmValues.minimum_priority_fee, documented.minimum_priority_fee)),
  tip_cap: Schema.optionalKey(shownAs(evmValues.tip_cap, documented.tip_cap)),
  rpc_methods: Schema.optionalKey(shownAs(Schema.Array(Shown.shaped(/^eth_[a-zA-Z]{1,20}$/)), documented.rpc_methods)),
  features: Schema.optionalKey(shownAs(Schema.Array(Label), documented.features)),
  symbol: shownAs(Shown.shaped(/^[A-Z]{2,6}$/), documented.symbol)
}).annotate({ identifier: "EvmNetwork" })

export const SolanaNetwork = Schema.Struct({
  ...shown,
  network_type: networkTag("solana"),
  transaction_window: Schema.optionalKey(shownAs(solanaWindow, documented.transaction_window)),
  rpc_methods: Schema.optionalKey(shownAs(Schema.Array(Shown.shaped(/^get[A-Z][a-z]{1,20}$/)), documented.rpc_methods))
}).annotate({ identifier: "SolanaNetwork" })

export const StellarNetwork = Schema.Struct({
  ...shown,
  network_type: networkTag("stellar"),
  passphrase: shownAs(Shown.Words, documented.passphrase),
  horizon_url: Schema.optionalKey(shownAs(Shown.Url, documented.horizon_url)),
  fee_forwarder: Schema.optionalKey(shownAs(stellarValues.fee_forwarder, documented.fee_forwarder)),
  rpc_methods: Schema.optionalKey(shownAs(Schema.Array(Shown.shaped(/^get[A-Z][a-z]{1,20}$/)), documented.rpc_methods))
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
