// Verifies that a webhook comes from this service, in plain Node: nothing but `node:crypto` is loaded.
import { createHmac, timingSafeEqual } from "node:crypto"
import { resources } from "../../domain/access/Resources.ts"
import { parse } from "../../domain/request/ExactParse.ts"
import * as SignedMessage from "../SignedMessage.ts"
import type { UnknownWebhook, WebhookBody } from "./WebhookBody.ts"

export type { Relayer, Transaction, TransactionStatus, UnknownWebhook, WebhookBody } from "./WebhookBody.ts"

/**
 * `headers`: `webhook-id`, `webhook-timestamp` or `webhook-signature` is missing or occurs more than once. `timestamp`: the
 * webhook is too old or from the future, because it is a replay or because a clock is wrong. `signature`: another key signed
 * it. `body`: the signature is valid, but the body is not a webhook.
 */
export class WebhookInvalid extends Error {
  override readonly name = "WebhookInvalid"
  readonly reason: SignedMessage.Reason

  constructor(reason: SignedMessage.Reason) {
    super(SignedMessage.messages[reason])
    this.reason = reason
  }
}

export interface Options extends SignedMessage.Message {
  /** The `signing_key` of the notification. During a rotation, the old one or the new one. */
  readonly secret: string
  /** Returns milliseconds since 1970. Absent: the clock of this machine. */
  readonly clock?: () => number
}

const isSigned = (secret: string, { bytes, signatures }: SignedMessage.SignedContent) => {
  const key = SignedMessage.keyBytes(secret)
  if (key.length === 0) return false
  const expected = createHmac("sha256", key).update(bytes).digest()
  const isExpected = (signature: Uint8Array) =>
    signature.length === expected.length && timingSafeEqual(signature, expected)
  return signatures.map(SignedMessage.fromBase64).some(isExpected)
}

const knownTypes: ReadonlySet<string> = new Set([
  ...resources.relayer.eventTypes,
  ...resources.transaction.eventTypes,
  "test"
])

const isObject = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === "object" && value !== null

/** Only `type` is checked: the signature proves that the service wrote the rest. */
const isKnown = (body: object): body is WebhookBody =>
  "type" in body && typeof body.type === "string" && knownTypes.has(body.type)

const webhookOf = (body: unknown): WebhookBody | UnknownWebhook | undefined => {
  if (!isObject(body)) return undefined
  const { id, type, event, payload, timestamp } = body
  if (typeof id !== "string" || typeof event !== "string" || typeof timestamp !== "string") return undefined
  if (isKnown(body) && isObject(payload)) return body
  return { id, type: "unknown", sent_type: typeof type === "string" ? type : undefined, event, payload, timestamp }
}

const parsed = (bytes: Uint8Array): unknown => {
  try {
    return parse(new TextDecoder().decode(bytes))
  } catch {
    return undefined
  }
}

/**
 * Returns the webhook of a request, or throws `WebhookInvalid`. Integers beyond 2^53 are `bigint`.
 *
 * ```ts
 * import { verifyWebhook } from "effect-relayer/webhook/node"
 *
 * const webhook = verifyWebhook({ secret, headers: request.headers, body })
 * if (webhook.type === "relayer.disabled") console.error(webhook.payload.disable_reason)
 * ```
 */
export const verifyWebhook = (options: Options): WebhookBody | UnknownWebhook => {
  const { clock = Date.now, secret } = options
  const signed = SignedMessage.read(options, clock() / 1000)
  if (typeof signed === "string") throw new WebhookInvalid(signed)
  if (!isSigned(secret, signed)) throw new WebhookInvalid("signature")
  const webhook = webhookOf(parsed(signed.body))
  if (webhook === undefined) throw new WebhookInvalid("body")
  return webhook
}
