// A relayer: an account-like worker bound to one network and one signer.
import { Schema } from "effect"
import { NetworkName } from "./Network.ts"
import { NotificationId } from "./Notification.ts"
import { EvmPolicy, SolanaPolicy, StellarPolicy } from "./Policy.ts"
import { MaskedRpcConfig, RpcConfig } from "./Rpc.ts"
import { SignerId } from "./Signer.ts"
import { list, maybe, resourceId, text } from "./Text.ts"

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
