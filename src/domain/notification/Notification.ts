// Notifications: where the service tells of a relayer's events.
import { Effect, Schema } from "effect"
import { HttpUrl } from "../chain/Rpc.ts"
import { omittedDefault } from "../request/OmittedDefault.ts"
import { maybe, resourceId, text } from "../request/Text.ts"

export const NotificationId = resourceId.pipe(Schema.brand("NotificationId"))
export type NotificationId = typeof NotificationId.Type

const isLoopback = (host: string) => host === "localhost" || host === "[::1]" || /^127\.\d+\.\d+\.\d+$/.test(host)

const WebhookUrl = HttpUrl.check(
  Schema.makeFilter(
    (url: string) => {
      const parsed = URL.parse(url)
      return parsed !== null && (parsed.protocol === "https:" || isLoopback(parsed.hostname))
    },
    { expected: "an https URL (http only for loopback)" }
  ),
  Schema.makeFilter(
    (url: string) => {
      const parsed = URL.parse(url)
      return parsed !== null && parsed.username === "" && parsed.password === ""
    },
    { expected: "a URL without credentials" }
  )
)

/** Key of the HMAC-SHA256 of webhooks: its text, and for Standard Webhooks, of `whsec_…`, the bytes that follow in base64. */
export const SigningKey = Schema.RedactedFromValue(
  text(32, 512).check(
    Schema.makeFilter((key: string) => !key.startsWith("whsec_") || /^whsec_[A-Za-z0-9+/]+={0,2}$/u.test(key), {
      expected: "base64 after whsec_"
    })
  )
)

const Type = Schema.Literal("webhook")

export const CreateNotification = Schema.Struct({
  /** Absent: a UUID. */
  id: maybe(NotificationId),
  type: Type.pipe(Schema.withDecodingDefaultKey(Effect.succeed("webhook" as const))),
  url: WebhookUrl,
  /** Absent: deliveries are not signed. */
  signing_key: maybe(SigningKey)
}).annotate({ identifier: "CreateNotificationRequest" })
export type CreateNotification = typeof CreateNotification.Type

/** What is absent or null stays. */
export const UpdateNotification = Schema.Struct({
  type: maybe(Type),
  url: maybe(WebhookUrl),
  /** The one before is good for another 24 hours. Empty: both are removed. */
  signing_key: maybe(Schema.Union([Schema.Literal(""), SigningKey])),
  paused: maybe(Schema.Boolean)
}).annotate({ identifier: "UpdateNotificationRequest" })
export type UpdateNotification = typeof UpdateNotification.Type

export const Notification = Schema.Struct({
  id: NotificationId,
  type: Type,
  url: Schema.String,
  has_signing_key: Schema.Boolean,
  /** While it is true, nothing is sent; deliveries wait for at most 24 hours. Left out while it is false. */
  paused: omittedDefault(Schema.Boolean, false)
}).annotate({ identifier: "Notification" })
export type Notification = typeof Notification.Type

export class NotificationNotFound extends Schema.TaggedError<NotificationNotFound>()("NotificationNotFound", {}) {}

/** Relayers tell of their events by it. */
export class NotificationInUse extends Schema.TaggedError<NotificationInUse>()("NotificationInUse", {
  /** Names them. */
  error: Schema.String
}) {}

export class NotificationIdTaken extends Schema.TaggedError<NotificationIdTaken>()("NotificationIdTaken", {}) {}
