// What a signature of Standard Webhooks covers. It imports nothing, so that programs without Effect can use it.

/** What each reason of a refusal means. */
export const messages = {
  headers: "expected the headers webhook-id, webhook-timestamp and webhook-signature, once each",
  timestamp:
    "webhook-timestamp: expected the present time within the tolerance; the webhook is a replay, or a clock is wrong",
  signature: "webhook-signature: expected a signature of the body by this secret",
  body: "the signature is valid, but the body is not a webhook"
} as const
export type Reason = keyof typeof messages

export interface Message {
  /** The headers of the request: `Headers`, or an object with names in lower case, like that of Node. */
  readonly headers: Headers | { readonly [name: string]: string | ReadonlyArray<string> | undefined }
  /** The body as it was received, before any parsing. */
  readonly body: string | Uint8Array
  /** Seconds by which the timestamp may differ from the clock of the receiver. Absent: 300. */
  readonly toleranceSeconds?: number
}

export interface SignedContent {
  readonly body: Uint8Array
  /** What was signed. */
  readonly bytes: Uint8Array<ArrayBuffer>
  /** As base64. */
  readonly signatures: ReadonlyArray<string>
}

const isHeaders = (headers: Message["headers"]): headers is Headers => typeof headers.get === "function"

const header = (headers: Message["headers"], name: string) => {
  const value = isHeaders(headers) ? headers.get(name) : headers[name]
  return typeof value === "string" && value !== "" ? value : undefined
}

const utf8 = new TextEncoder()

const join = (head: Uint8Array, tail: Uint8Array) => {
  const whole = new Uint8Array(head.length + tail.length)
  whole.set(head)
  whole.set(tail, head.length)
  return whole
}

/** The signed message that the headers of a request describe, or the reason why it cannot be valid at `nowSeconds`. */
export const read = (
  { headers, body, toleranceSeconds = 300 }: Message,
  nowSeconds: number
): SignedContent | Reason => {
  const id = header(headers, "webhook-id")
  const timestamp = header(headers, "webhook-timestamp")
  const signatures = header(headers, "webhook-signature")
  if (id === undefined || timestamp === undefined || signatures === undefined) return "headers"
  if (!/^\d{1,15}$/.test(timestamp) || Math.abs(nowSeconds - Number(timestamp)) > toleranceSeconds) return "timestamp"
  const bytes = typeof body === "string" ? utf8.encode(body) : body
  const versioned = signatures.split(" ").filter((signature) => signature.startsWith("v1,"))
  return {
    body: bytes,
    bytes: join(utf8.encode(`${id}.${timestamp}.`), bytes),
    signatures: versioned.map((signature) => signature.slice(3))
  }
}

/** Empty if `text` is not base64. */
export const fromBase64 = (text: string): Uint8Array<ArrayBuffer> => {
  try {
    return Uint8Array.from(atob(text), (character) => character.charCodeAt(0))
  } catch {
    return new Uint8Array()
  }
}

/** A key of Standard Webhooks is `whsec_` and base64. Any other text is used as UTF-8. An empty key verifies nothing. */
export const keyBytes = (secret: string): Uint8Array<ArrayBuffer> =>
  secret.startsWith("whsec_") ? fromBase64(secret.slice(6)) : utf8.encode(secret)
