// Notifications: the receivers of webhooks.
import { Effect, Option, Schema, SchemaGetter } from "effect"
import { HttpUrl, maskUrl } from "../chain/Rpc.ts"
import { harmless, receiverUrl } from "../request/Change.ts"
import { field, judged } from "../request/Field.ts"
import * as Shown from "../request/Shown.ts"
import { maybe, resourceId, text } from "../request/Shown.ts"

/** A field that every value has. Responses omit it while it is `usual`. */
const omittedDefault = <S extends Schema.Constraint>(schema: S, usual: S["Type"]) =>
  Schema.optionalKey(schema).pipe(
    Schema.decodeTo(Schema.toType(schema), {
      decode: SchemaGetter.transformOptional(Option.orElseSome(() => usual)),
      encode: SchemaGetter.transformOptional(Option.filter((value) => value !== usual))
    })
  )

export const NotificationId = resourceId
  .annotate({ description: "Identifier of the notification.", examples: ["ops"] })
  .pipe(Schema.brand("NotificationId"))
export type NotificationId = typeof NotificationId.Type

/** The service knows which hosts http may lead to: those that the operator names. */
const WebhookUrl = HttpUrl.check(
  Schema.makeFilter(
    (url: string) => {
      const parsed = URL.parse(url)
      return parsed !== null && parsed.username === "" && parsed.password === ""
    },
    { expected: "a URL without credentials", toJsonSchema: () => [{}, true] }
  )
)

/** Key of the HMAC-SHA256 of webhooks: the bytes of the text, or, after `whsec_`, the bytes of the base64 that follows. */
export const SigningKey = Schema.RedactedFromValue(
  text(32, 512).check(
    Schema.makeFilter((key: string) => !key.startsWith("whsec_") || /^whsec_[A-Za-z0-9+/]+={0,2}$/u.test(key), {
      expected: "base64 after whsec_",
      toJsonSchema: () => [{}, true]
    })
  )
)

/** Random bytes of a new key. Standard Webhooks asks for 24 to 64. */
export const signingKeyBytes = 32

const toBase64 = Schema.encodeSync(Schema.Uint8ArrayFromBase64)

/** A key that the libraries of Standard Webhooks take as it is. `random` has `signingKeyBytes` bytes. */
export const newSigningKey = (random: Uint8Array): string => `whsec_${toBase64(random)}`

/** What a receiver needs to know of a key. */
const keyText =
  '`whsec_` and base64: the libraries of Standard Webhooks take this form as it is. A text without `whsec_` signs with its own bytes: these libraries decode it as base64 unless they get `{ format: "raw" }` (npm) or the bytes of the text (Python).'

const Type = Schema.Literal("webhook").annotate({ description: "Kind of the notification.", examples: ["webhook"] })

const url = "https://hooks.example.com/relayer"

export const CreateNotification = Schema.Struct({
  id: maybe(NotificationId.schema, {
    description: "Identifier of the notification. If absent, the service generates a UUID."
  }),
  type: judged(Type.pipe(Schema.withDecodingDefaultKey(Effect.succeed("webhook" as const))), harmless),
  url: judged(
    field(WebhookUrl, "URL of the receiver: https, or http to a host that OUTBOUND_ALLOW of the service names.", url),
    receiverUrl
  ),
  signing_key: maybe(SigningKey, {
    change: harmless,
    description: `Key of the webhook signatures (HMAC-SHA256); if absent, webhooks are not signed. Best is ${keyText}`,
    examples: ["whsec_9qu8VyNlvmbj8DzpnGzAEplN6kYSdeIa6d4w2+rzuRo="]
  })
}).annotate({ identifier: "CreateNotificationRequest" })
export type CreateNotification = typeof CreateNotification.Type

/** Fields that are absent or null stay. */
export const UpdateNotification = Schema.Struct({
  type: maybe(Type),
  url: maybe(WebhookUrl, { description: "URL of the receiver.", examples: [url] }),
  signing_key: maybe(Schema.Union([Schema.Literal(""), SigningKey]), {
    description: `A new key. The previous key stays valid for 24 hours. An empty text removes both. Best is ${keyText}`,
    examples: ["whsec_s5oh4Mz2iFKXvYqrmfTBLGPqBZCsjYuDwYCOjhGgyOA="]
  }),
  paused: maybe(Schema.Boolean, { description: "Whether deliveries are held back.", examples: [true] })
}).annotate({ identifier: "UpdateNotificationRequest" })
export type UpdateNotification = typeof UpdateNotification.Type

export const Notification = Schema.Struct({
  id: NotificationId,
  type: Type,
  url: field(
    Shown.Url,
    "URL of the receiver. Only a key with `notifications:write` gets its path and query, which may contain a secret; for others, and in events and audit records, they are masked: `https://hooks.example.com/***`.",
    url
  ),
  has_signing_key: field(Schema.Boolean, "Whether webhooks are signed.", true),
  paused: field(
    omittedDefault(Schema.Boolean, false),
    "While true, deliveries are held back, for at most 24 hours. Absent while false.",
    true
  ),
  managed_by: Shown.managedBy
}).annotate({ identifier: "Notification", description: "A receiver of webhooks." })
export type Notification = typeof Notification.Type

/** What the creator of a notification without a signing key should know. */
export const unsigned =
  "webhooks of this notification are not signed, because it has no signing_key: the receiver cannot tell whether the service sent them. `effect-relayer notifications key` makes a key; set it in the notification and at the receiver"

/** The notification for callers that may not write notifications, for events and for audit records. */
export const masked = (notification: Notification): Notification => ({
  ...notification,
  url: maskUrl(notification.url)
})

export class NotificationNotFound extends Schema.TaggedError<NotificationNotFound>()("NotificationNotFound", {}) {
  override readonly message = "no notification has this id"
}

/** Relayers use the notification. */
export class NotificationInUse extends Schema.TaggedError<NotificationInUse>()("NotificationInUse", {
  /** Names the relayers. */
  error: Shown.Words
}) {
  override readonly message = this.error
}

export class NotificationIdTaken extends Schema.TaggedError<NotificationIdTaken>()("NotificationIdTaken", {}) {
  override readonly message = "a notification has this id already; choose another id"
}
