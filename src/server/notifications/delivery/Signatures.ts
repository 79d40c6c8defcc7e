// Computes the signature headers of a webhook: those of Standard Webhooks, and `X-Signature`.
import { Redacted } from "effect"
import { createHmac } from "node:crypto"

/** The prefix of a key in the format of Standard Webhooks. The rest is base64. */
const prefix = "whsec_"

const standardKey = (key: string) =>
  key.startsWith(prefix) ? Buffer.from(key.slice(prefix.length), "base64") : Buffer.from(key)

const hmac = (key: string | Uint8Array, text: string) => createHmac("sha256", key).update(text).digest("base64")

export interface SignedWebhook {
  readonly id: string
  readonly body: string
  /** Seconds since 1970. */
  readonly timestamp: number
  /** The current key first. Empty: the webhook is not signed. */
  readonly keys: ReadonlyArray<Redacted.Redacted>
}

export const headers = ({ id, body, timestamp, keys }: SignedWebhook): Record<string, string> => {
  const identity = { "webhook-id": id, "webhook-timestamp": String(timestamp) }
  const [current, ...previous] = keys.map(Redacted.value)
  if (current === undefined) return identity
  const signature = (key: string) => `v1,${hmac(standardKey(key), `${id}.${timestamp}.${body}`)}`
  return {
    ...identity,
    "webhook-signature": [current, ...previous].map(signature).join(" "),
    "x-signature": hmac(current, body)
  }
}
