// Verifies that a webhook comes from this service. Runs on every platform with WebCrypto.
import { Clock, Effect, Option, Redacted, Schema } from "effect"
import { parse } from "../domain/request/ExactJson.ts"
import { Webhook } from "../domain/notification/Webhook.ts"
import * as Payload from "../api/WebhooksApi.ts"
import type { WebhookPayload } from "./Client.ts"
import * as SignedMessage from "./SignedMessage.ts"

/**
 * `headers`: `webhook-id`, `webhook-timestamp` or `webhook-signature` is missing or occurs more than once. `timestamp`: the
 * webhook is too old or from the future, because it is a replay or because a clock is wrong. `signature`: another key signed
 * it. `body`: the signature is valid, but the body is not a webhook.
 */
export class WebhookInvalid extends Schema.TaggedError<WebhookInvalid>()("WebhookInvalid", {
  reason: Schema.Literals(["headers", "timestamp", "signature", "body"])
}) {
  override readonly message = SignedMessage.messages[this.reason]
}

export interface Options extends SignedMessage.Message {
  /** The `signing_key` of the notification. During a rotation, the old one or the new one. */
  readonly secret: string | Redacted.Redacted
}

const fail = (reason: WebhookInvalid["reason"]) => Effect.fail(new WebhookInvalid({ reason }))

/** `subtle.verify` compares in constant time. */
const isSigned = async (secret: string, { bytes, signatures }: SignedMessage.SignedContent) => {
  const raw = SignedMessage.keyBytes(secret)
  if (raw.length === 0) return false
  const key = await crypto.subtle.importKey("raw", raw, { name: "HMAC", hash: "SHA-256" }, false, ["verify"])
  const verified = signatures.map((signature) =>
    crypto.subtle.verify("HMAC", key, SignedMessage.fromBase64(signature), bytes)
  )
  return (await Promise.all(verified)).includes(true)
}

/** A webhook that this version does not know, for example of a later service. Respond with 2xx, or the service sends it again. */
export interface UnknownWebhook extends Omit<Webhook, "type"> {
  readonly type: "unknown"
  /** The `type` of the body, if it has one. */
  readonly sent_type: string | undefined
}

const decodeKnown = Schema.decodeUnknownOption(Payload.WebhookPayload)

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
  const now = yield* Clock.currentTimeMillis
  const signed = SignedMessage.read(options, now / 1000)
  if (typeof signed === "string") return yield* fail(signed)
  const { secret } = options
  const key = typeof secret === "string" ? secret : Redacted.value(secret)
  if (!(yield* Effect.promise(() => isSigned(key, signed)))) return yield* fail("signature")
  return yield* Effect.try({ try: () => parse(new TextDecoder().decode(signed.body)), catch: () => undefined }).pipe(
    Effect.flatMap(decode),
    Effect.catch(() => fail("body"))
  )
})
