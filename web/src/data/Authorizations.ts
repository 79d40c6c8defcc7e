// Signed authorizations (EIP-7702) as wallets and libraries print them, pasted as text, and what they say.
import { Option, Schema } from "effect"
import { AuthorizationList } from "../../../src/networks/evm/rules/AuthorizationShapes.ts"

/** `not_json_object`: as `console.log` of JavaScript prints an object, whose names have no quotes and whose bigints end with n. */
export type AuthorizationProblem = "not_authorizations" | "not_json_object"

const jsonOf = (text: string): unknown => {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

/** What `cast wallet sign-auth` prints: hex, with or without quotes. */
const hexText = /^"?(0x[0-9a-fA-F]+)"?,?$/

const isPrinted = (text: string): boolean =>
  /^\s*[[{]/.test(text) && /(^|[\s,{])[A-Za-z_]\w*\s*:|\b\d+n\b|'/m.test(text)

/** An entry per line: JSON, or hex. Undefined: a line is neither. */
const linesOf = (text: string): ReadonlyArray<unknown> | undefined => {
  const entries = text
    .split("\n")
    .map((line) => line.trim())
    .filter((line) => line !== "")
    .map((line) => hexText.exec(line)?.[1] ?? jsonOf(line.replace(/,$/, "")))
  return entries.includes(undefined) ? undefined : entries
}

/** A list, one object, or an entry per line. The shapes of the entries are judged by the contract, which reads those of all libraries. */
export const authorizationsOf = (
  text: string
): { readonly value: ReadonlyArray<unknown> } | { readonly problem: AuthorizationProblem } => {
  const whole = jsonOf(text)
  if (Array.isArray(whole)) return { value: whole as ReadonlyArray<unknown> }
  if (typeof whole === "object" && whole !== null) return { value: [whole] }
  const lines = linesOf(text)
  if (lines !== undefined && lines.every((line) => typeof line === "object" || typeof line === "string"))
    return { value: lines }
  return { problem: isPrinted(text) ? "not_json_object" : "not_authorizations" }
}

/** What an authorization says. Its account is known by its signature alone, which the service recovers. */
export interface SignedDelegate {
  /** 0: valid on every chain. */
  readonly chainId: number
  /** The zero address ends a delegation. */
  readonly address: string
  readonly nonce: number
}

const decode = Schema.decodeUnknownOption(AuthorizationList)

/** Undefined at the place of an entry that is none. */
export const delegatesIn = (list: unknown): ReadonlyArray<SignedDelegate | undefined> =>
  Array.isArray(list)
    ? list.map((entry: unknown) => Option.getOrUndefined(Option.map(decode([entry]), ([first]) => first)))
    : []

/** The delegate that ends a delegation. */
export const noDelegate = `0x${"00".repeat(20)}`
