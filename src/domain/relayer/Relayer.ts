// A relayer: an account-like worker bound to one network and one signer.
import { Schema } from "effect"
import { Value } from "../request/ExactJson.ts"
import { NetworkName, NetworkType } from "../network/Network.ts"
import { NotificationId } from "../notification/Notification.ts"
import { immutable } from "../request/MergePatch.ts"
import { CursorQuery } from "../request/Page.ts"
import { EvmPolicy, SolanaPolicy, StellarPolicy } from "./Policy.ts"
import { MaskedRpcConfig, RpcConfig } from "../chain/Rpc.ts"
import { SignerId } from "../signer/Signer.ts"
import { Flag, list, maybe, resourceId, text } from "../request/Text.ts"

export const RelayerId = resourceId.pipe(Schema.brand("RelayerId"))
export type RelayerId = typeof RelayerId.Type

export const RelayerName = text(1, 256)

const requested = {
  /** Absent: a UUID. */
  id: maybe(RelayerId),
  name: RelayerName,
  network: NetworkName,
  paused: Schema.Boolean,
  signer_id: SignerId,
  notification_id: maybe(NotificationId),
  /** Absent or empty: the RPC URLs of the network. */
  custom_rpc_urls: maybe(list(RpcConfig))
}

/** Jupiter quotes exist for mainnet only. */
const jupiterOnMainnet = Schema.makeFilter(
  (relayer: { readonly network: string; readonly policies?: SolanaPolicy }) => {
    const strategy = relayer.policies?.swap_config?.strategy
    return strategy === undefined || strategy === "noop" || relayer.network === "mainnet-beta"
      ? undefined
      : { path: ["policies", "swap_config", "strategy"], issue: `${strategy} is only supported on mainnet-beta` }
  }
)

export const CreateRelayer = Schema.Union([
  Schema.Struct({ ...requested, network_type: Schema.tag("evm"), policies: maybe(EvmPolicy) }).annotate({
    identifier: "CreateEvmRelayerRequest"
  }),
  Schema.Struct({ ...requested, network_type: Schema.tag("solana"), policies: maybe(SolanaPolicy) })
    .check(jupiterOnMainnet)
    .annotate({ identifier: "CreateSolanaRelayerRequest" }),
  Schema.Struct({ ...requested, network_type: Schema.tag("stellar"), policies: maybe(StellarPolicy) }).annotate({
    identifier: "CreateStellarRelayerRequest"
  })
]).annotate({ message: "network_type must be evm, solana or stellar" })
export type CreateRelayer = typeof CreateRelayer.Type

/** A merge patch (RFC 7396): what is absent stays, null removes. */
export const UpdateRelayer = Schema.Struct({
  name: Schema.optionalKey(RelayerName),
  paused: Schema.optionalKey(Schema.Boolean),
  notification_id: Schema.optionalKey(Schema.NullOr(NotificationId)),
  /** Replaced whole. A masked URL stands for the stored one. */
  custom_rpc_urls: Schema.optionalKey(Schema.NullOr(list(RpcConfig))),
  /** Merged field by field, of the policy of the relayer's network type. */
  policies: Schema.optionalKey(Schema.NullOr(Schema.Record(Schema.String, Value))),
  id: immutable,
  network: immutable,
  network_type: immutable,
  signer_id: immutable,
  address: immutable,
  system_disabled: immutable,
  disabled_reason: immutable
}).annotate({ identifier: "UpdateRelayerRequest" })
export type UpdateRelayer = typeof UpdateRelayer.Type

/** Which relayers a list has. */
export const RelayerFilter = {
  network_type: Schema.optionalKey(NetworkType),
  network: Schema.optionalKey(NetworkName),
  signer_id: Schema.optionalKey(SignerId),
  notification_id: Schema.optionalKey(NotificationId),
  paused: Schema.optionalKey(Flag),
  system_disabled: Schema.optionalKey(Flag),
  /** Is contained in the name or the id, in upper or lower case. */
  q: Schema.optionalKey(text(1, 256))
}
export type RelayerFilter = { readonly [K in keyof typeof RelayerFilter]?: (typeof RelayerFilter)[K]["Type"] }

/** `-` is descending. Names are compared by their code points. */
export const RelayerSort = Schema.Literals(["created_at", "-created_at", "name", "-name"])
export type RelayerSort = typeof RelayerSort.Type

export const RelayerQuery = {
  ...CursorQuery,
  ...RelayerFilter,
  sort: Schema.optionalKey(RelayerSort.annotateKey({ description: "`created_at` unless told." }))
}
export interface RelayerQuery extends CursorQuery, RelayerFilter {
  readonly sort?: RelayerSort
}

/** Why the service has disabled a relayer; `details` is a fixed text, never an answer of a provider. */
export const DisabledReason = Schema.Struct({
  type: Schema.Literals([
    "NonceSyncFailed",
    "RpcValidationFailed",
    "BalanceCheckFailed",
    "SequenceSyncFailed",
    "ChainIdMismatch",
    "Multiple"
  ]),
  details: Schema.String
}).annotate({ identifier: "DisabledReason" })
export type DisabledReason = typeof DisabledReason.Type

const stored = {
  id: RelayerId,
  name: RelayerName,
  network: NetworkName,
  /** Derived from the signer: lower-case hex (evm), base58 (solana), StrKey (stellar). */
  address: Schema.String,
  /** By the operator. */
  paused: Schema.Boolean,
  /** By the service. */
  system_disabled: Schema.Boolean,
  disabled_reason: Schema.optionalKey(DisabledReason),
  signer_id: SignerId,
  notification_id: Schema.optionalKey(NotificationId),
  custom_rpc_urls: Schema.optionalKey(Schema.Array(MaskedRpcConfig))
}

export const EvmRelayer = Schema.Struct({
  ...stored,
  network_type: Schema.tag("evm"),
  policies: Schema.optionalKey(EvmPolicy)
}).annotate({ identifier: "EvmRelayer" })

export const SolanaRelayer = Schema.Struct({
  ...stored,
  network_type: Schema.tag("solana"),
  policies: Schema.optionalKey(SolanaPolicy)
}).annotate({ identifier: "SolanaRelayer" })

export const StellarRelayer = Schema.Struct({
  ...stored,
  network_type: Schema.tag("stellar"),
  policies: Schema.optionalKey(StellarPolicy)
}).annotate({ identifier: "StellarRelayer" })

export const Relayer = Schema.Union([EvmRelayer, SolanaRelayer, StellarRelayer])
export type Relayer = typeof Relayer.Type

export class RelayerNotFound extends Schema.TaggedError<RelayerNotFound>()("RelayerNotFound", {}) {}

export class RelayerIdTaken extends Schema.TaggedError<RelayerIdTaken>()("RelayerIdTaken", {}) {}
