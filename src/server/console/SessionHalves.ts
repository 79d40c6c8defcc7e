// The two halves of a session: the browser keeps one as a cookie, and the page sends the other as `X-Console`. The database has
// hashes of them. Either half alone is worth nothing.
import { Redacted } from "effect"
import { createHash, randomBytes, timingSafeEqual } from "node:crypto"
import type { SessionId } from "../../domain/access/Caller.ts"

export interface Halves {
  readonly cookie: string
  readonly proof: string
}

const newHalf = () => randomBytes(32).toString("base64url")

export const make = (): Halves => ({ cookie: newHalf(), proof: newHalf() })

/** 32 bytes as base64url. */
const half = /^[A-Za-z0-9_-]{43}$/

const sha256 = (...parts: ReadonlyArray<string | Uint8Array>): Buffer => {
  const hash = createHash("sha256")
  for (const part of parts) hash.update(part)
  return hash.digest()
}

/** Digits of the hash in an id: 128 bits. */
const idDigits = 32

/** The id of the session of a cookie. `undefined` if the value is no cookie of a session. */
export const idOf = (cookie: string): SessionId | undefined =>
  half.test(cookie) ? sha256("session id", cookie).toString("hex").slice(0, idDigits) : undefined

export const isProof = (text: string | undefined): text is string => text !== undefined && half.test(text)

export const proofHash = (proof: string): Uint8Array => sha256("proof", proof)

/** Binds a session to its cookie and to the value of its key: a session does not outlive that value, and no row can be made up from another one. */
export const binding = (keyHash: Uint8Array, cookie: string): Uint8Array => sha256("binding", keyHash, cookie)

export const isEqual = (stored: Uint8Array, expected: Uint8Array): boolean =>
  stored.length === expected.length && timingSafeEqual(stored, expected)

/** Both halves as the token of a request, and whether a person caused the request. Only the console's mount makes tokens. */
export interface Presented extends Halves {
  readonly isByPerson: boolean
}

const prefix = "console"

export const toToken = ({ cookie, proof, isByPerson }: Presented): string =>
  [prefix, isByPerson ? "person" : "page", cookie, proof].join(".")

export const fromToken = (token: Redacted.Redacted): Presented | undefined => {
  const [first, by, cookie = "", proof = "", ...rest] = Redacted.value(token).split(".")
  const isWhole = first === prefix && rest.length === 0 && half.test(cookie) && half.test(proof)
  return isWhole ? { cookie, proof, isByPerson: by === "person" } : undefined
}
