// Relayers: accounts on one network with one signer, as callers create, change, list and see them.
import { Effect, Result, Schema } from "effect"
import { ProviderReading } from "../chain/ChainSnapshot.ts"
import { MaskedRpcConfig, RpcConfig, unmask } from "../chain/Rpc.ts"
import { HealthStatus, ListedHealth } from "../health/ListedHealth.ts"
import { NetworkName, networkTag, NetworkType } from "../network/Network.ts"
import { NotificationId } from "../notification/Notification.ts"
import * as ExactJson from "../request/ExactJson.ts"
import { Value } from "../request/ExactJson.ts"
import { harmless, identity, pause, providerUrls } from "../request/Change.ts"
import { field, judged } from "../request/Field.ts"
import { CursorQuery } from "../request/Page.ts"
import { applyMergePatch, BadRequest, checkResourceSize, immutableField } from "../request/Request.ts"
import type { Violation } from "../request/Request.ts"
import { EvmAddress, SolanaAddress, StellarAddress, Uint256 } from "../chain/Amount.ts"
import * as Shown from "../request/Shown.ts"
import { flag, Instant, list, maybe, resourceId, text } from "../request/Shown.ts"
import { SignerId } from "../signer/Signer.ts"
import { EvmPolicy, SolanaPolicy, StellarPolicy } from "./Policy.ts"

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
  name: judged(RelayerName, harmless),
  network: judged(NetworkName.schema, identity),
  paused: judged(Paused, pause),
  signer_id: judged(SignerId.schema, identity),
  notification_id: maybe(NotificationId.schema, {
    change: harmless,
    description: "Notification that gets the webhooks of the relayer."
  }),
  custom_rpc_urls: maybe(list(RpcConfig), {
    change: providerUrls,
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
    custom_private_rpc_urls: maybe(list(RpcConfig), {
      change: providerUrls,
      description:
        "Endpoints that keep transactions of the relayer private. If absent or empty, it uses `private_rpc_urls` of the network.",
      examples: [[{ url: "https://private.example.com/v1/my-key", weight: 100 }]]
    }),
    network_type: judged(networkTag("evm"), identity),
    policies: maybe(EvmPolicy, { description: policies })
  }).annotate({
    identifier: "CreateEvmRelayerRequest"
  }),
  Schema.Struct({
    ...requested,
    network_type: judged(networkTag("solana"), identity),
    policies: maybe(SolanaPolicy, { description: policies })
  })
    .check(jupiterOnMainnet)
    .annotate({ identifier: "CreateSolanaRelayerRequest" }),
  Schema.Struct({
    ...requested,
    network_type: judged(networkTag("stellar"), identity),
    policies: maybe(StellarPolicy, { description: policies })
  }).annotate({
    identifier: "CreateStellarRelayerRequest"
  })
]).annotate({
  identifier: "CreateRelayerRequest",
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
  custom_private_rpc_urls: field(
    Schema.optionalKey(Schema.NullOr(list(RpcConfig))),
    "Endpoints that keep transactions of the relayer private, replaced as a whole. Masked URLs are as in `custom_rpc_urls`. Null removes them.",
    [{ url: "https://private.example.com/v1/my-key", weight: 100 }]
  ),
  policies: field(
    Schema.optionalKey(PolicyPatch),
    "A merge patch of the policy of the relayer's network type. Null removes the policy.",
    { min_balance: "200000000000000000", gas_price_cap: null }
  ),
  id: immutableField,
  network: immutableField,
  network_type: immutableField,
  signer_id: immutableField,
  address: immutableField,
  system_disabled: immutableField,
  disabled_reason: immutableField,
  managed_by: immutableField,
  health: immutableField
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
  custom_private_rpc_urls: Schema.optionalKey(
    field(
      Schema.Array(MaskedRpcConfig),
      "Endpoints that keep transactions of the relayer private. If absent, it uses those of the network."
    )
  ),
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
 * the fields in this order. `managed_by` is added when the row is read (`sql/Rows.ts`).
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
  readonly custom_private_rpc_urls?: ReadonlyArray<MaskedRpcConfig>
  readonly policies?: {
    readonly min_balance?: bigint
    readonly fee_payment_strategy?: "user" | "relayer"
    readonly allowed_tokens?: ReadonlyArray<unknown>
    readonly timeout_seconds?: bigint
    readonly swap_config?: unknown
    readonly concurrent_transactions?: boolean
    readonly channels?: { readonly count: number }
    readonly private_transactions?: boolean
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

// Applies merge patches to relayers. The result must be a relayer that could have been created.

const parseOptions = { errors: "all", onExcessProperty: "error" } as const
const encodeRequest = Schema.encodeSync(CreateRelayer)
const encodePatch = Schema.encodeSync(UpdateRelayer)
const decodeRequest = Schema.decodeUnknownEffect(CreateRelayer, parseOptions)

/** The encoded form as a body has it: amounts are numbers with every digit. */
const asBody = (encoded: unknown) => ExactJson.parse(JSON.stringify(encoded))

/** The lists of RPC URLs of a relayer. Each is masked in responses, and sealed in a column of its own. */
export const relayerUrlLists = ["custom_rpc_urls", "custom_private_rpc_urls"] as const
type RelayerUrlList = (typeof relayerUrlLists)[number]

/** RPC URLs of a relayer. Null and absent: it uses those of its network. */
export type RelayerUrls = { readonly [List in RelayerUrlList]?: ReadonlyArray<RpcConfig> | null }

/** Undefined: there are none. Only relayers of evm have private ones. */
export const relayerUrlsIn = (urls: RelayerUrls, list: RelayerUrlList): ReadonlyArray<RpcConfig> | undefined =>
  urls[list] ?? undefined

/** The request that would create the relayer. `urls` are its RPC URLs, unmasked. */
export const createRequestOf = (relayer: Relayer, urls: RelayerUrls): CreateRelayer => {
  const {
    address: _,
    system_disabled: __,
    disabled_reason: ___,
    custom_rpc_urls: ____,
    managed_by: _____,
    health: ______,
    ...fields
  } = relayer
  const own = relayerUrlsIn(urls, "custom_rpc_urls")
  const given = own === undefined ? {} : { custom_rpc_urls: own }
  if (fields.network_type !== "evm") return { ...fields, ...given }
  const secret = relayerUrlsIn(urls, "custom_private_rpc_urls")
  const { custom_private_rpc_urls: _______, ...evm } = fields
  return { ...evm, ...given, ...(secret === undefined ? {} : { custom_private_rpc_urls: secret }) }
}

export interface PatchedRelayer {
  readonly request: CreateRelayer
  /** Whether the patch changes anything. */
  readonly isChanged: boolean
}

/** Puts the stored URLs in the place of masked ones. */
const unmasked = (patch: UpdateRelayer, urls: RelayerUrls): Result.Result<UpdateRelayer, ReadonlyArray<Violation>> =>
  Result.gen(function* () {
    const found: { [List in RelayerUrlList]?: ReadonlyArray<RpcConfig> } = {}
    for (const list of relayerUrlLists) {
      const given = relayerUrlsIn(patch, list)
      if (given !== undefined) found[list] = yield* unmask(list, given, relayerUrlsIn(urls, list) ?? [])
    }
    return { ...patch, ...found }
  })

/** Fails with `BadRequest` if the result is not a valid relayer. The fields are named as in a create. */
export const applyRelayerPatch = Effect.fnUntraced(function* (
  relayer: Relayer,
  urls: RelayerUrls,
  patch: UpdateRelayer
): Effect.fn.Return<PatchedRelayer, BadRequest> {
  const stored = createRequestOf(relayer, urls)
  const before = asBody(encodeRequest(stored))
  const changes = yield* Effect.mapError(Effect.fromResult(unmasked(patch, urls)), BadRequest.of)
  const request = yield* decodeRequest(applyMergePatch(before, asBody(encodePatch(changes)))).pipe(
    Effect.mapError(({ issue }) => BadRequest.fromIssue(issue, "body"))
  )
  yield* checkResourceSize(request, stored)
  return { request, isChanged: !isEqual(before, asBody(encodeRequest(request))) }
})

/** Compares by value. The order of fields does not matter. */
const isEqual = (one: unknown, other: unknown): boolean => canonical(one) === canonical(other)

const canonical = (value: unknown): string =>
  JSON.stringify(value, (_, child: unknown) => {
    if (typeof child === "bigint") return `${child}n`
    if (typeof child !== "object" || child === null || Array.isArray(child)) return child
    return Object.fromEntries(Object.entries(child).sort(([a], [b]) => (a < b ? -1 : 1)))
  })

// What callers ask the list of relayers for: filters, orders, and their health.

export const RelayerFilter = {
  network_type: Schema.optionalKey(field(NetworkType, "Only relayers of this network type.")),
  network: Schema.optionalKey(field(NetworkName.schema, "Only relayers on networks of this name.")),
  signer_id: Schema.optionalKey(field(SignerId.schema, "Only relayers with this signer.")),
  notification_id: Schema.optionalKey(field(NotificationId.schema, "Only relayers with this notification.")),
  paused: Schema.optionalKey(flag("Only relayers that are paused, or that are not.")),
  system_disabled: Schema.optionalKey(flag("Only relayers that the service has disabled, or has not.")),
  state: Schema.optionalKey(field(HealthStatus, "Only relayers whose last check left them in this state.", "disabled")),
  q: Schema.optionalKey(
    field(text(1, 256), "Only relayers whose name or id contains this text, in upper or lower case.", "pay")
  )
}
export type RelayerFilter = { readonly [K in keyof typeof RelayerFilter]?: (typeof RelayerFilter)[K]["Type"] }

export const RelayerSort = Schema.Literals(["created_at", "-created_at", "name", "-name", "attention"])
export type RelayerSort = typeof RelayerSort.Type

export const RelayerQuery = {
  ...CursorQuery,
  ...RelayerFilter,
  sort: Schema.optionalKey(
    field(
      RelayerSort,
      "Order of the list. `-` means descending; names are compared by code points. `attention`: disabled relayers first, then failing ones, those with a transaction that waits for something that is missing, degraded ones, those with a low balance, and all others in creation order; a relayer whose state changes between two pages may be skipped or repeated. The default is `created_at`.",
      "-name"
    )
  ),
  include: Schema.optionalKey(
    field(
      Schema.Literal("health"),
      "`health`: each relayer has its last check and its open transactions, as the service has stored them. No chain is asked.",
      "health"
    )
  )
}
export interface RelayerQuery extends CursorQuery, RelayerFilter {
  readonly include?: "health"
  readonly sort?: RelayerSort
}

// The status and the balance of a relayer, as responses show them.

const shown = {
  balance: Schema.optionalKey(
    field(Shown.Digits, "Balance in the chain's smallest unit. Absent if it was never read.", "1000000000000000000")
  ),
  live: field(
    Schema.Boolean,
    "True if balance, nonce and providers were read for this response. False if they are from `read_at` and from the last check.",
    true
  ),
  read_at: Schema.optionalKey(
    field(Instant, "When the amounts were read. Absent if they never were.", "2026-01-02T03:04:05.678Z")
  ),
  paused: field(Schema.Boolean, "Whether the operator has paused the relayer.", false),
  system_disabled: field(Schema.Boolean, "Whether the service has disabled the relayer.", false),
  disabled_reason: Schema.optionalKey(DisabledReason),
  health: HealthStatus,
  last_check_at: Schema.optionalKey(
    field(Instant, "When the relayer was last checked. Absent before the first check.", "2026-01-02T03:04:05.678Z")
  ),
  next_check_at: field(Instant, "When the relayer is checked next.", "2026-01-02T03:05:05.678Z"),
  pending_transactions_count: field(Schema.Natural, "Transactions of the relayer that are not final.", 2),
  last_confirmed_transaction_timestamp: Schema.optionalKey(
    field(Instant, "When its last transaction was confirmed. Absent if none was.", "2026-01-02T03:04:05.678Z")
  ),
  providers: field(Schema.Array(ProviderReading), "The providers, in the order of the RPC URLs.")
}

export const RelayerStatus = Schema.Union([
  Schema.Struct({
    network_type: networkTag("evm"),
    ...shown,
    nonce: Schema.optionalKey(field(Shown.Digits, "Nonce of the account's next transaction.", "17"))
  }).annotate({ identifier: "EvmRelayerStatus" }),
  Schema.Struct({ network_type: networkTag("solana"), ...shown }).annotate({ identifier: "SolanaRelayerStatus" }),
  Schema.Struct({
    network_type: networkTag("stellar"),
    ...shown,
    sequence_number: Schema.optionalKey(
      field(Shown.Digits, "Sequence number of the account's last transaction.", "103720918407102567")
    )
  }).annotate({ identifier: "StellarRelayerStatus" })
]).annotate({ identifier: "RelayerStatus", description: "Whether a relayer works, and its account on the chain." })
export type RelayerStatus = typeof RelayerStatus.Type

/** The smallest unit of each network type. */
export const unitOf = { evm: "wei", solana: "lamport", stellar: "stroop" } as const satisfies Record<
  NetworkType,
  string
>

export const RelayerBalance = Schema.Struct({
  balance: field(Uint256, "Balance in `unit`.", 1000000000000000),
  unit: field(Schema.Literals(["wei", "lamport", "stroop"]), "The chain's smallest unit.", "wei")
}).annotate({ identifier: "RelayerBalance", description: "The balance of a relayer's account." })
export type RelayerBalance = typeof RelayerBalance.Type
