// The text of API keys.
import { Redacted } from "effect"
import { hash, randomBytes } from "node:crypto"

/**
 * Keys are long and random, so that one round of SHA-256 is enough. `hash` returns a string, because that takes a third of the
 * time of a buffer.
 */
export const hashKey = (key: Redacted.Redacted): Uint8Array =>
  Buffer.from(hash("sha256", Redacted.value(key), "hex"), "hex")

/** Secret scanners find keys by this prefix. */
const prefix = "er_key_"

const checksum = (secret: string) => hash("sha256", prefix + secret, "base64url").slice(0, 6)

/** 256 random bits and a checksum. A key with a wrong checksum is refused without a query. */
export const makeKey = (): Redacted.Redacted => {
  const secret = randomBytes(32).toString("base64url")
  return Redacted.make(`${prefix}${secret}${checksum(secret)}`)
}

export const isWellFormed = (key: Redacted.Redacted): boolean => {
  const text = Redacted.value(key)
  const secret = text.slice(prefix.length, -6)
  return text.startsWith(prefix) && secret.length === 43 && text.endsWith(checksum(secret))
}
