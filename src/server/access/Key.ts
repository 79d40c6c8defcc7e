// API keys as text.
import { Redacted } from "effect"
import { hash, randomBytes } from "node:crypto"

/**
 * Keys are long and random, so one round of SHA-256 hides them; nothing keeps a key itself. By way of a string, which costs a
 * third of what a buffer from `hash` does.
 */
export const hashKey = (key: Redacted.Redacted): Uint8Array =>
  Buffer.from(hash("sha256", Redacted.value(key), "hex"), "hex")

/** What secret scanners find keys by. */
const prefix = "er_key_"

const checksum = (secret: string) => hash("sha256", prefix + secret, "base64url").slice(0, 6)

/** 256 random bits, and a checksum by which a mistyped or made-up key is told without the database. */
export const makeKey = (): Redacted.Redacted => {
  const secret = randomBytes(32).toString("base64url")
  return Redacted.make(`${prefix}${secret}${checksum(secret)}`)
}

export const isWellFormed = (key: Redacted.Redacted): boolean => {
  const text = Redacted.value(key)
  const secret = text.slice(prefix.length, -6)
  return text.startsWith(prefix) && secret.length === 43 && text.endsWith(checksum(secret))
}
