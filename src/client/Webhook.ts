// Verifies that a webhook comes from this service. Runs on every platform with WebCrypto.
import { Clock, Effect, Option, Predicate, Redacted, Schema } from "effect"
import { parse } from "../domain/request/ExactJson.ts"
import { Webhook } from "../domain/notification/Webhook.ts"
import { WebhookPayload } from "../domain/notification/WebhookPayload.ts"

const messages = {
  headers: "expected the headers webhook-id, webhook-timestamp and webhook-signature, once each",
  timestamp:
    "webhook-timestamp: expected the present time within the tolerance; the webhook is a replay, or a clock is wrong",
  signature: "webhook-signature: no signature of the body by this secret",
  body: "the signature is valid, but the body is not a webhook"
} as const

/**
 * `headers`: `webhook-id`, `webhook-timestamp` or `webhook-signature` is missing or occurs more than once. `timestamp`: the
 * webhook is too old or from the future, because it is a replay or because a clock is wrong. `signature`: another key signed
 * it. `body`: the signature is valid, but the body is not a webhook.
 */
export class WebhookInvalid extends Schema.TaggedError<WebhookInvalid>()("WebhookInvalid", {
  reason: Schema.Literals(["headers", "timestamp", "signature", "body"])
}) {
  override readonly message = messages[this.reason]
}

export interface Options {
  /** The `signing_key` of the notification. During a rotation, the old one or the new one. */
  readonly secret: string | Redacted.Redacted
  /** The headers of the request: `Headers`, or an object with names in lower case, like that of Node. */
  readonly headers: Headers | { readonly [name: string]: string | ReadonlyArray<string> | undefined }
  /** The body as it was received, before any parsing. */
  readonly body: string | Uint8Array
  /** Seconds by which the timestamp may differ from the clock of the receiver. Absent: 300. */
  readonly toleranceSeconds?: number
}

const fail = (reason: WebhookInvalid["reason"]) => Effect.fail(new WebhookInvalid({ reason }))

const isHeaders = (headers: Options["headers"]): headers is Headers =>
  Predicate.hasProperty(headers, "get") && typeof headers.get === "function"

const header = (headers: Options["headers"], name: string) => {
  const value = isHeaders(headers) ? headers.get(name) : headers[name]
  return typeof value === "string" && value !== "" ? Effect.succeed(value) : fail("headers")
}

const utf8 = new TextEncoder()

const fromBase64 = (text: string) => {
  try {
    return Uint8Array.from(atob(text), (character) => character.charCodeAt(0))
  } catch {
    return new Uint8Array()
  }
}

/** A key of Standard Webhooks is `whsec_` and base64. Any other text is used as UTF-8. */
const keyBytes = (secret: string) => (secret.startsWith("whsec_") ? fromBase64(secret.slice(6)) : utf8.encode(secret))

const join = (head: Uint8Array, tail: Uint8Array) => {
  const whole = new Uint8Array(head.length + tail.length)
  whole.set(head)
  whole.set(tail, head.length)
  return whole
}

/** `subtle.verify` compares in constant time. An empty key verifies nothing. */
const isSigned = async (secret: string, signed: Uint8Array<ArrayBuffer>, signatures: string) => {
  const bytes = keyBytes(secret)
  if (bytes.length === 0) return false
  const key = await crypto.subtle.importKey("raw", bytes, { name: "HMAC", hash: "SHA-256" }, false, ["verify"])
  const versioned = signatures.split(" ").filter((signature) => signature.startsWith("v1,"))
  const verified = versioned.map((signature) =>
    crypto.subtle.verify("HMAC", key, fromBase64(signature.slice(3)), signed)
  )
  return (await Promise.all(verified)).includes(true)
}

/** A webhook that this version does not know, for example of a later service. Respond with 2xx, or the service repeats it. */
export interface UnknownWebhook extends Omit<Webhook, "type"> {
  readonly type: "unknown"
  /** The `type` of the body, if it has one. */
  readonly sent_type: string | undefined
}

const decodeKnown = Schema.decodeUnknownOption(WebhookPayload)

const decodeAny = (body: unknown): Effect.Effect<UnknownWebhook, Schema.SchemaError> =>
  Effect.map(Schema.decodeUnknownEffect(Webhook)(body), ({ type, ...webhook }) => ({
    ...webhook,
    type: "unknown",
    sent_type: type
  }))

const decode = (body: unknown): Effect.Effect<WebhookPayload | UnknownWebhook, Schema.SchemaError> => {
  const known = decodeKnown(body)
  return Option.isSome(known) ? Effect.succeed(known.value) : decodeAny(body)
}

/**
 * Verifies the webhook of a request, or fails with the reason. `type` says what happened: `relayer.disabled`, for example. The
 * service repeats a delivery until it gets a response with status 2xx: a receiver that has seen the `id` before only has to
 * respond.
 *
 * ```ts
 * import { verifyWebhook } from "effect-relayer/webhook"
 *
 * const webhook = await Effect.runPromise(
 *   verifyWebhook({ secret, headers: request.headers, body: await request.text() })
 * )
 * ```
 */
export const verifyWebhook = Effect.fnUntraced(function* (
  options: Options
): Effect.fn.Return<WebhookPayload | UnknownWebhook, WebhookInvalid> {
  const { secret, headers, body, toleranceSeconds = 300 } = options
  const id = yield* header(headers, "webhook-id")
  const timestamp = yield* header(headers, "webhook-timestamp")
  const signatures = yield* header(headers, "webhook-signature")
  if (!/^\d{1,15}$/.test(timestamp)) return yield* fail("timestamp")
  const now = yield* Clock.currentTimeMillis
  if (Math.abs(now / 1000 - Number(timestamp)) > toleranceSeconds) return yield* fail("timestamp")
  const bytes = typeof body === "string" ? utf8.encode(body) : body
  const signed = join(utf8.encode(`${id}.${timestamp}.`), bytes)
  const key = typeof secret === "string" ? secret : Redacted.value(secret)
  if (!(yield* Effect.promise(() => isSigned(key, signed, signatures)))) return yield* fail("signature")
  return yield* Effect.try({ try: () => parse(new TextDecoder().decode(bytes)), catch: () => undefined }).pipe(
    Effect.flatMap(decode),
    Effect.catch(() => fail("body"))
  )
})
