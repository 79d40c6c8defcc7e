// API keys: who may call, and what they may do. A key is shown once, when it is made.
import { Schema } from "effect"
import { Instant } from "../request/Instant.ts"
import { RelayerId } from "../relayer/Relayer.ts"
import { Grant } from "./Scope.ts"
import { list, maybe, resourceId, text } from "../request/Text.ts"

export const ApiKeyId = resourceId.pipe(Schema.brand("ApiKeyId"))
export type ApiKeyId = typeof ApiKeyId.Type

const ApiKeyName = text(1, 256)

const Grants = list(Grant).check(Schema.isMinLength(1))

export const CreateApiKey = Schema.Struct({
  name: ApiKeyName,
  scopes: Grants,
  /** The only relayers that there are for the key. Absent: all, also those to come. */
  relayer_ids: maybe(list(RelayerId).check(Schema.isMinLength(1))),
  /** Absent: it never expires. */
  expires_at: maybe(Instant)
}).annotate({ identifier: "CreateApiKeyRequest" })
export type CreateApiKey = typeof CreateApiKey.Type

const day = 86_400

export const RotateApiKey = Schema.Struct({
  /** Seconds that the key before lives on. Absent: a day; 0: it ends at once; at most 30 days. */
  overlap_seconds: maybe(Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: 30 * day })))
}).annotate({ identifier: "RotateApiKeyRequest" })
export type RotateApiKey = typeof RotateApiKey.Type

export const defaultOverlapSeconds = day

const shown = {
  id: ApiKeyId,
  name: ApiKeyName,
  scopes: Schema.Array(Grant),
  relayer_ids: Schema.optionalKey(Schema.Array(RelayerId)),
  created_at: Instant,
  expires_at: Schema.optionalKey(Instant),
  /** Until when the key before the last rotation is good. */
  previous_expires_at: Schema.optionalKey(Instant),
  /** To the minute. */
  last_used_at: Schema.optionalKey(Instant),
  /** The network address that it came from. */
  last_used_from: Schema.optionalKey(Schema.String),
  /** Id of the caller that created it; absent for keys of earlier versions. */
  created_by: Schema.optionalKey(Schema.String)
}

export const ApiKey = Schema.Struct(shown).annotate({ identifier: "ApiKey" })
export type ApiKey = typeof ApiKey.Type

/** With the key itself: what a create and a rotation answer, once. */
export const NewApiKey = Schema.Struct({ ...shown, key: Schema.RedactedFromValue(Schema.String) }).annotate({
  identifier: "NewApiKey"
})
export type NewApiKey = typeof NewApiKey.Type

/** What a revocation did. */
export const RevokedApiKeys = Schema.Struct({
  /** The keys that are revoked. */
  revoked: Schema.Array(ApiKeyId),
  /** Keys that a revoked key has created, directly or through others, and that are still valid. */
  remaining: Schema.Array(ApiKeyId)
}).annotate({ identifier: "RevokedApiKeys" })
export type RevokedApiKeys = typeof RevokedApiKeys.Type

/** Keys that one API key may have created, directly, at the same time. */
export const maxCreatedKeys = 100

/** The creator has `maxCreatedKeys` keys. */
export class TooManyApiKeys extends Schema.TaggedError<TooManyApiKeys>()("TooManyApiKeys", {
  error: Schema.String
}) {}

export class ApiKeyNotFound extends Schema.TaggedError<ApiKeyNotFound>()("ApiKeyNotFound", {}) {}
