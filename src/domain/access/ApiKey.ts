// API keys, and what they may do. The service stores the hash of a key, so only the response to its creation contains the key.
import { Schema } from "effect"
import { RelayerId } from "../relayer/Relayer.ts"
import { Value } from "../request/ExactJson.ts"
import { alsoListed, decisive, harmless, onlyListed } from "../request/Change.ts"
import { field, judged } from "../request/Field.ts"
import { immutableField } from "../request/Request.ts"
import * as Shown from "../request/Shown.ts"
import { Instant, list, maybe, resourceId, text } from "../request/Shown.ts"
import { TransactionLimits } from "../../networks/core/TransactionLimits.ts"
import * as Resources from "./Resources.ts"

// What an API key may do. An endpoint requires one scope. A key is granted scopes, all scopes of a resource, or all scopes.

/** What an endpoint can require: a resource, and reading or changing it. */
export const Scope = Schema.Literals(Resources.scopes)
export type Scope = typeof Scope.Type

/** What a key with the scope can do, for people who choose the scopes of a key. */
export const scopeTexts: Readonly<Record<Scope, string>> = {
  "relayers:read":
    "See relayers with their policies, masked RPC URLs, health and balances, and what needs attention; ask their chains for status and balance.",
  "relayers:write":
    "Create, change, pause, check and delete relayers. It decides about limits, receivers and RPC providers: only for who may spend.",
  "signers:read": "See signers, their addresses and which relayers use them. Private keys are never shown.",
  "signers:write": "Create signers with their secrets, replace their logins, verify them, and delete unused ones.",
  "notifications:read": "See receivers of webhooks, and deliveries with their bodies and answers.",
  "notifications:write":
    "Create, change, pause, test and delete receivers of webhooks, and send deliveries again. Deliveries have the details of transactions.",
  "networks:read": "See networks with their masked RPC URLs.",
  "networks:write":
    "Create, change, reset and delete networks. It decides which RPC providers are believed: only for who may spend.",
  "api-keys:read": "See API keys with their scopes, limits and last use. The keys themselves are never shown.",
  "api-keys:write":
    "Create, change, rotate and revoke API keys, and end sessions of the console. A key gives others no more than it has itself.",
  "claims:read": "See whether a name is claimed, until when, and whether for good.",
  "claims:write":
    "Claim names, extend, release and finish own claims. The names are those of the whole service: who may claim can keep others from a name.",
  "audit:read": "Read the audit log: each change, its author and its time. Verify and export it.",
  "audit:write": "Create checkpoints of the audit log.",
  "master-key:write": "Rotate the master key, which encrypts all secrets in the database.",
  "events:read": "See events and follow them as a stream.",
  "transactions:read": "See transactions with their requests, attempts and explanations, and simulate requests.",
  "transactions:write": "Send, replace and cancel transactions, within policies and the limits of the key.",
  "transactions:sign":
    "Get signatures of messages and of transactions that the service does not send. A raw signature can move everything.",
  "rpc:call":
    "Call the nodes of relayers by JSON-RPC. To send or sign through it, a key needs transactions:write or transactions:sign as well."
}

/** What a key can be granted: a scope, all scopes of a resource (`signers:*`), or all scopes (`*`). */
export const Grant = Schema.Literals([...Scope.literals, ...Resources.allScopes, "*"]).annotate({
  identifier: "Scope",
  description:
    "A scope, all scopes of a resource such as `relayers:*`, or all scopes (`*`). `relayers:write` and `networks:write` decide about prices, receivers and which providers are believed: give them only to who may spend.",
  examples: ["relayers:read"],
  message: `Expected one of ${Scope.literals.join(", ")}, all of a resource such as relayers:*, or *`
})
export type Grant = typeof Grant.Type

const all = "*"

/** Scopes that only their own name and `*` grant: `transactions:*` does not include `transactions:sign`. */
const onlyByName: ReadonlySet<Grant> = new Set(Resources.onlyByName)

/** Whether `granted` includes all of `needed`. */
const includes = (granted: Grant, needed: Grant): boolean => {
  if (granted === needed || granted === all) return true
  return granted.endsWith(":*") && needed.startsWith(granted.slice(0, -1)) && !onlyByName.has(needed)
}

/** Whether `grants` together include all of `needed`. */
export const allows = (grants: ReadonlyArray<Grant>, needed: Grant): boolean =>
  grants.some((granted) => includes(granted, needed))

const narrowable: ReadonlySet<Scope> = new Set(Resources.narrowableScopes)

/**
 * Whether a key that is limited to some relayers may hold the grant: nothing that it allows shows or changes anything that
 * does not belong to those relayers.
 */
export const isNarrowable = (grant: Grant): boolean =>
  Scope.literals.every((scope) => !includes(grant, scope) || narrowable.has(scope))

export const ApiKeyId = resourceId
  .annotate({ description: "Identifier of the API key.", examples: ["0b9f5a52-5c1e-4f0c-9a43-8f0c3f9b2d11"] })
  .pipe(Schema.brand("ApiKeyId"))
export type ApiKeyId = typeof ApiKeyId.Type

const ApiKeyName = text(1, 256).annotate({ description: "Name of the key, for people.", examples: ["Payout service"] })

const Grants = list(Grant).check(Schema.isMinLength(1))

const scopes = "What the key may do."

const relayerIds =
  "The only relayers that the key can use, each of which has to exist. If absent, it can use all relayers, including later ones. A deleted relayer is removed from the list; a key whose list is empty can use none."

const limits =
  "What the key may send, per network type: nothing on networks of a type without limits. If absent, everything that the policies of its relayers allow. A key that a limited key creates has at most the same limits."

const exampleLimits = {
  max_value: "1000000000000000000",
  max_fee_per_day: "50000000000000000",
  solana: { max_value: "2000000000", max_fee_per_day: "50000000" }
}

const expiry = "When the key expires. If absent, it does not expire."

/** Audit records name a refused sign-in to the console by this id, because no key made it. */
export const consoleKeyId = "console"

/** Audit records name the administrator, the host program and the console by the first three, and a path has the last one. */
export const reservedKeyIds: ReadonlySet<string> = new Set(["administrator", "program", consoleKeyId, "current"])

export const CreateApiKey = Schema.Struct({
  id: maybe(ApiKeyId.schema, {
    description:
      "Identifier of the API key. If absent, the service generates a UUID. The id of a revoked key that had limits of fees, or that had created keys or was created by one, cannot be used again.",
    examples: ["payout-service"]
  }),
  name: judged(ApiKeyName, harmless),
  scopes: judged(field(Grants, scopes, ["relayers:read", "relayers:write"]), alsoListed),
  relayer_ids: maybe(list(RelayerId.schema).check(Schema.isMinLength(1)), {
    change: onlyListed,
    description: relayerIds,
    examples: [["payouts"]]
  }),
  expires_at: maybe(Instant, { change: decisive, description: expiry, examples: ["2030-01-01T00:00:00Z"] }),
  transaction_limits: maybe(TransactionLimits, { description: limits, examples: [exampleLimits] })
}).annotate({ identifier: "CreateApiKeyRequest" })
export type CreateApiKey = typeof CreateApiKey.Type

const patchedLimits = "A merge patch of `transaction_limits`. Null removes all limits."

/** A merge patch (RFC 7396) of everything but the key itself. */
export const UpdateApiKey = Schema.Struct({
  name: Schema.optionalKey(ApiKeyName),
  scopes: Schema.optionalKey(field(Grants, scopes, ["relayers:read", "relayers:write"])),
  relayer_ids: field(
    Schema.optionalKey(Schema.NullOr(list(RelayerId.schema).check(Schema.isMinLength(1)))),
    "The only relayers that the key can use, each of which has to exist. Null: all relayers, including later ones.",
    ["payouts"]
  ),
  expires_at: field(
    Schema.optionalKey(Schema.NullOr(Instant)),
    "When the key expires. Null: it does not expire.",
    "2030-01-01T00:00:00Z"
  ),
  transaction_limits: field(
    Schema.optionalKey(Schema.NullOr(Schema.Record(Schema.String, Value))),
    patchedLimits,
    exampleLimits
  ),
  id: immutableField,
  key: immutableField,
  created_at: immutableField,
  created_by: immutableField,
  previous_expires_at: immutableField,
  last_used_at: immutableField,
  last_used_from: immutableField,
  managed_by: immutableField
}).annotate({ identifier: "UpdateApiKeyRequest" })
export type UpdateApiKey = typeof UpdateApiKey.Type

/** In seconds. */
const day = 86_400

export const RotateApiKey = Schema.Struct({
  overlap_seconds: maybe(Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: 30 * day })), {
    description: "Seconds for which the previous key stays valid, at most 30 days. The default is one day.",
    examples: [3600]
  })
}).annotate({ identifier: "RotateApiKeyRequest" })
export type RotateApiKey = typeof RotateApiKey.Type

export const defaultOverlapSeconds = day

const shown = {
  id: ApiKeyId,
  name: ApiKeyName,
  scopes: field(Schema.Array(Grant), scopes, ["relayers:read", "relayers:write"]),
  relayer_ids: Schema.optionalKey(field(Schema.Array(RelayerId), relayerIds, ["payouts"])),
  created_at: field(Instant, "When the key was created.", "2026-01-02T03:04:05.678Z"),
  expires_at: Schema.optionalKey(field(Instant, expiry, "2030-01-01T00:00:00.000Z")),
  transaction_limits: Schema.optionalKey(field(TransactionLimits, limits, exampleLimits)),
  previous_expires_at: Schema.optionalKey(
    field(Instant, "Until when the key before the last rotation is valid.", "2026-01-03T03:04:05.678Z")
  ),
  last_used_at: Schema.optionalKey(
    field(Instant, "When the key was last used, to the minute.", "2026-01-02T03:05:00.000Z")
  ),
  last_used_from: Schema.optionalKey(
    field(Shown.ClientAddress, "The network address that the key was last used from.", "203.0.113.7")
  ),
  created_by: Schema.optionalKey(
    field(Shown.Id, "Id of the caller that created the key. Absent for keys of earlier versions.", "administrator")
  ),
  managed_by: Shown.managedBy
}

export const ApiKey = Schema.Struct(shown).annotate({ identifier: "ApiKey", description: "A credential of a caller." })
export type ApiKey = typeof ApiKey.Type

/** The key of a request, with what it may do. Programs learn from it which requests are refused. */
export const CurrentKey = Schema.Struct({
  id: field(Shown.Id, "Identifier of the API key; `administrator` for the administrator's key.", "payout-service"),
  name: Schema.optionalKey(ApiKeyName),
  scopes: shown.scopes,
  relayer_ids: shown.relayer_ids,
  transaction_limits: shown.transaction_limits,
  created_at: Schema.optionalKey(shown.created_at),
  expires_at: shown.expires_at
}).annotate({ identifier: "CurrentKey", description: "The API key of the request." })
export type CurrentKey = typeof CurrentKey.Type

/** The response to a creation or a rotation. */
export const NewApiKey = Schema.Struct({
  ...shown,
  key: field(
    Schema.RedactedFromValue(Shown.shaped(/^rk_[A-Za-z0-9]{43}$/)),
    "The key itself. It is not returned again.",
    "rk_7Jx0mZ2kQv"
  )
}).annotate({ identifier: "NewApiKey", description: "An API key with the key itself." })
export type NewApiKey = typeof NewApiKey.Type

export const RevokedApiKeys = Schema.Struct({
  revoked: field(Schema.Array(ApiKeyId), "The revoked keys.", ["0b9f5a52-5c1e-4f0c-9a43-8f0c3f9b2d11"]),
  remaining: field(
    Schema.Array(ApiKeyId),
    "Keys that a revoked key has created, directly or through others, and that are still valid.",
    []
  )
}).annotate({ identifier: "RevokedApiKeys", description: "The result of a revocation." })
export type RevokedApiKeys = typeof RevokedApiKeys.Type

/** Keys that one API key may have created, directly or through others, and that are not revoked. */
export const maxCreatedKeys = 100

/** The creator, or the first key that it descends from, has already `maxCreatedKeys` keys. */
export class TooManyApiKeys extends Schema.TaggedError<TooManyApiKeys>()("TooManyApiKeys", {
  error: Shown.Words
}) {
  override readonly message = this.error
}

/** A key has this id, or a revoked key had it whose limits or descendants are still stored. */
export class ApiKeyIdTaken extends Schema.TaggedError<ApiKeyIdTaken>()("ApiKeyIdTaken", {}) {
  override readonly message = "an API key has or had this id"
}

export class ApiKeyNotFound extends Schema.TaggedError<ApiKeyNotFound>()("ApiKeyNotFound", {}) {
  override readonly message = "no API key has this id"
}

// The key of the configuration. Its holder, the administrator, may do everything.

/** Characters. A key of 32 random hexadecimal digits has 128 bits. */
export const minAdministratorKeyLength = 32

export const isAdministratorKey = (text: string): boolean => text.length >= minAdministratorKeyLength

/** A host program gave `Services.layer` an administrator's key that is too short. */
export class AdministratorKeyTooShort extends Schema.TaggedError<AdministratorKeyTooShort>()(
  "AdministratorKeyTooShort",
  {}
) {
  override readonly message = `administratorKey: expected at least ${minAdministratorKeyLength} characters; generate one with openssl rand -hex 32`
}
