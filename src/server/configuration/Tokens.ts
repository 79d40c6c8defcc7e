// Keyed hashes: of secrets, so that they are compared without being in a plan, and of everything that a plan is based on.
import { createHmac, createSecretKey } from "node:crypto"
import { DateTime, Effect } from "effect"
import { ServiceSecrets } from "../secrets/ServiceSecrets.ts"

const name = "configuration"

/** Private keys have the same value with and without their prefix, in upper and lower case. */
const privateKey = /^(0x)?([0-9a-fA-F]{64})$/

const canonicalSecret = (secret: string): string => privateKey.exec(secret)?.[2]?.toLowerCase() ?? secret

/** Text that is equal for equal values. The order of members does not matter. */
export const stable = (value: unknown): string => {
  if (typeof value === "bigint") return `${value}n`
  if (typeof value !== "object" || value === null) return JSON.stringify(value) ?? "null"
  if (Array.isArray(value)) return `[${value.map(stable).join()}]`
  if (value instanceof Map) return stable(Object.fromEntries(value))
  if (value instanceof Set) return stable([...value].toSorted())
  if (DateTime.isDateTime(value)) return JSON.stringify(DateTime.formatIso(value))
  const members = value as { readonly [name: string]: unknown }
  let text = ""
  for (const name of Object.keys(members).toSorted()) {
    const child = members[name]
    if (child !== undefined) text += `${text === "" ? "" : ","}${JSON.stringify(name)}:${stable(child)}`
  }
  return `{${text}}`
}

/** 96 bits are enough to distinguish the states of one object. */
const shortLength = 16

export const shortened = (token: string): string => token.slice(0, shortLength)

export interface Tokens {
  readonly ofSecret: (secret: string) => string
  /** A keyed hash of a value that may contain a secret, such as a list of URLs. */
  readonly ofValue: (value: unknown) => string
  readonly digest: (value: unknown) => string
}

const of = (text: string): Tokens => {
  // With a key that is not a `KeyObject`, Node needs three times as long.
  const key = createSecretKey(text, "utf8")
  const hash = (use: string, text: string) => createHmac("sha256", key).update(use).update(text).digest("base64url")
  return {
    ofSecret: (secret) => hash("secret\n", canonicalSecret(secret)),
    ofValue: (value) => hash("value\n", stable(value)),
    digest: (value) => hash("digest\n", stable(value))
  }
}

/** All instances have the same key. */
export const make = Effect.map(ServiceSecrets, ({ get }) => ({ load: Effect.map(get(name), of) }))
