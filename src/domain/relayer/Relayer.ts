// Relayers: accounts on one network with one signer.
import { Schema } from "effect"
import { Value } from "../request/ExactJson.ts"
import { NetworkName, networkTag } from "../network/NetworkId.ts"
import type { NetworkType } from "../network/NetworkId.ts"
import { NotificationId } from "../notification/Notification.ts"
import { immutable } from "../request/MergePatch.ts"
import { EvmPolicy, SolanaPolicy, StellarPolicy } from "./Policy.ts"
import { MaskedRpcConfig, RpcConfig } from "../chain/Rpc.ts"
import { SignerId } from "../signer/SignerId.ts"
import { EvmAddress, SolanaAddress, StellarAddress } from "../chain/Address.ts"
import { ListedHealth } from "../health/ListedHealth.ts"
import { field } from "../request/Field.ts"
import { list, maybe, resourceId, text } from "../request/Text.ts"
import * as Shown from "../request/Shown.ts"

export const RelayerId = resourceId
  .annotate({ description: "Identifier of the relayer.", examples: ["payouts"] })
  .pipe(Schema.brand("RelayerId"))
export type RelayerId = typeof RelayerId.Type

export const RelayerName = text(1, 256).annotate({
  description: "Name of the relayer, for people.",
  examples: ["Payouts"]
})

const Paused = field(Schema.Boolean, "Whether the operator has paused the relayer.", false)

const policies = "Limits of the relayer."

const exampleUrls = [{ url: "https://rpc.example.com/v1/my-key", weight: 100 }]

/** Requests take plain strings: the service checks them, and that what they name exists. */
const requested = {
  id: maybe(RelayerId.schema, { description: "Identifier of the relayer. If absent, the service generates a UUID." }),
  name: RelayerName,
  network: NetworkName.schema,
  paused: Paused,
  signer_id: SignerId.schema,
  notification_id: maybe(NotificationId.schema, { description: "Notification that gets the webhooks of the relayer." }),
  custom_rpc_urls: maybe(list(RpcConfig), {
    description: "Providers of the relayer. If absent or empty, it uses those of the network.",
    examples: [exampleUrls]
  })
}

/** Jupiter only quotes prices of mainnet. */
const jupiterOnMainnet = Schema.makeFilter(
  (relayer: { readonly network: string; readonly policies?: SolanaPolicy }) => {
    const strategy = relayer.policies?.swap_config?.strategy
    return strategy === undefined || strategy === "noop" || relayer.network === "mainnet-beta"
      ? undefined
      : { path: ["policies", "swap_config", "strategy"], issue: `${strategy} is only supported on mainnet-beta` }
  }
)

export const CreateRelayer = Schema.Union([
  Schema.Struct({
    ...requested,
    network_type: networkTag("evm"),
    policies: maybe(EvmPolicy, { description: policies })
  }).annotate({
    identifier: "CreateEvmRelayerRequest"
  }),
  Schema.Struct({
    ...requested,
    network_type: networkTag("solana"),
    policies: maybe(SolanaPolicy, { description: policies })
  })
    .check(jupiterOnMainnet)
    .annotate({ identifier: "CreateSolanaRelayerRequest" }),
  Schema.Struct({
    ...requested,
    network_type: networkTag("stellar"),
    policies: maybe(StellarPolicy, { description: policies })
  }).annotate({
    identifier: "CreateStellarRelayerRequest"
  })
]).annotate({
  identifier: "CreateRelayerRequest",
  message: "network_type must be evm, solana or stellar",
  description: "A relayer to create."
})
export type CreateRelayer = typeof CreateRelayer.Type

/** A merge patch of a policy (RFC 7396). */
export const PolicyPatch = Schema.NullOr(Schema.Record(Schema.String, Value))

/** A merge patch (RFC 7396): absent fields stay, null removes a field. */
export const UpdateRelayer = Schema.Struct({
  name: Schema.optionalKey(RelayerName),
  paused: Schema.optionalKey(Paused),
  notification_id: field(
    Schema.optionalKey(Schema.NullOr(NotificationId.schema)),
    "Notification that gets the webhooks of the relayer. Null removes it.",
    "ops"
  ),
  custom_rpc_urls: field(
    Schema.optionalKey(Schema.NullOr(list(RpcConfig))),
    "Providers of the relayer, replaced as a whole. The n-th occurrence of a masked URL stands for the n-th stored URL with that mask. Null removes them.",
    exampleUrls
  ),
  policies: field(
    Schema.optionalKey(PolicyPatch),
    "A merge patch of the policy of the relayer's network type. Null removes the policy.",
    { min_balance: "200000000000000000", gas_price_cap: null }
  ),
  id: immutable,
  network: immutable,
  network_type: immutable,
  signer_id: immutable,
  address: immutable,
  system_disabled: immutable,
  disabled_reason: immutable,
  managed_by: immutable,
  health: immutable
}).annotate({ identifier: "UpdateRelayerRequest" })
export type UpdateRelayer = typeof UpdateRelayer.Type

/** Why the service has disabled a relayer. `details` is a text of this service, never one of a provider. */
export const DisabledReason = Schema.Struct({
  type: field(
    Schema.Literals([
      "NonceSyncFailed",
      "RpcValidationFailed",
      "BalanceCheckFailed",
      "SequenceSyncFailed",
      "ChainIdMismatch",
      "Multiple"
    ]),
    "The failed check, or `Multiple`.",
    "BalanceCheckFailed"
  ),
  details: field(Shown.Words, "The failed checks, for people.", "the balance is below min_balance")
}).annotate({ identifier: "DisabledReason", description: "Why the service has disabled the relayer." })
export type DisabledReason = typeof DisabledReason.Type

/** Present only in lists, if the request asks for it. It is never stored. */
const health = Schema.optionalKey(
  field(ListedHealth, "Its last check and its open transactions. Only in lists, with `include=health`.")
)

const stored = <Address extends Schema.Top>(address: Address) => ({
  id: RelayerId,
  name: RelayerName,
  network: NetworkName,
  address,
  paused: Paused,
  system_disabled: field(Schema.Boolean, "Whether the service has disabled the relayer.", false),
  disabled_reason: Schema.optionalKey(DisabledReason),
  signer_id: SignerId,
  notification_id: Schema.optionalKey(NotificationId),
  custom_rpc_urls: Schema.optionalKey(
    field(Schema.Array(MaskedRpcConfig), "Providers of the relayer. If absent, it uses those of the network.")
  )
})

export const EvmRelayer = Schema.Struct({
  ...stored(field(EvmAddress, "Address of the signer, in lower case.", "0x2c7536e3605d9c16a7a3d7b1898e529396a65c23")),
  network_type: networkTag("evm"),
  policies: Schema.optionalKey(EvmPolicy),
  managed_by: Shown.managedBy,
  health
}).annotate({ identifier: "EvmRelayer" })

export const SolanaRelayer = Schema.Struct({
  ...stored(field(SolanaAddress, "Address of the signer, as base58.", "7EcDhSYGxXyscszYEp35KHN8vvw3svAuLKTzXwCFLtV")),
  network_type: networkTag("solana"),
  policies: Schema.optionalKey(SolanaPolicy),
  managed_by: Shown.managedBy,
  health
}).annotate({ identifier: "SolanaRelayer" })
export type SolanaRelayer = typeof SolanaRelayer.Type

export const StellarRelayer = Schema.Struct({
  ...stored(
    field(
      StellarAddress,
      "Address of the signer, as StrKey.",
      "GA7QYNF7SOWQ3GLR2BGMZEHXAVIRZA4KVWLTJJFC7MGXUA74P7UJVSGZ"
    )
  ),
  network_type: networkTag("stellar"),
  policies: Schema.optionalKey(StellarPolicy),
  managed_by: Shown.managedBy,
  health
}).annotate({ identifier: "StellarRelayer" })
export type StellarRelayer = typeof StellarRelayer.Type

/**
 * The JSON of a relayer in responses is the generated column `json` of the table `relayers` (`sql/migrations/baseline/Resources.ts`), which has
 * the fields in this order. `managed_by` is added when the row is read (`sql/ManagedBy.ts`).
 */
export const Relayer = Schema.Union([EvmRelayer, SolanaRelayer, StellarRelayer]).annotate({
  identifier: "Relayer",
  description: "An account on one network with one signer."
})
export type Relayer = typeof Relayer.Type

/** What an inspection of a chain needs of a relayer. */
export interface RelayerAccount {
  readonly network_type: NetworkType
  readonly network: string
  readonly address: string
  readonly policies?: {
    readonly min_balance?: bigint
    readonly fee_payment_strategy?: "user" | "relayer"
    readonly allowed_tokens?: ReadonlyArray<unknown>
    readonly timeout_seconds?: bigint
    readonly swap_config?: unknown
    readonly concurrent_transactions?: boolean
    readonly channels?: { readonly count: number }
  }
}

export class RelayerNotFound extends Schema.TaggedError<RelayerNotFound>()("RelayerNotFound", {}) {
  override readonly message = "no relayer has this id"
}

/** Transactions of the relayer are open: its key is still needed. */
export class RelayerInUse extends Schema.TaggedError<RelayerInUse>()("RelayerInUse", { error: Shown.Words }) {
  override readonly message = this.error
}

/** A rehearsal of a policy would read too many transactions. */
export class RehearsalTooLarge extends Schema.TaggedError<RehearsalTooLarge>()("RehearsalTooLarge", {
  error: Shown.Words
}) {
  override readonly message = this.error

  /** `fitting`: the largest number of days with at most `maximum` transactions. 0: the last day has more. */
  static of(days: number, maximum: number, fitting: number): RehearsalTooLarge {
    const fits = fitting === 0 ? "the last day alone has more" : `${fitting} days have at most as many`
    return new RehearsalTooLarge({
      error: `the last ${days} days have more than ${maximum} final transactions; ${fits}`
    })
  }
}

export class RelayerIdTaken extends Schema.TaggedError<RelayerIdTaken>()("RelayerIdTaken", {}) {
  override readonly message = "a relayer has this id already; choose another id"
}

/** The account of the new relayer is a channel: what a channel sends would use the sequences of the relayer. */
export class RelayerIsChannel extends Schema.TaggedError<RelayerIsChannel>()("RelayerIsChannel", {}) {
  override readonly message = "the address of the signer is a channel of another relayer; use another signer"
}
