// Signed authorizations (EIP-7702) as wallets and libraries print them, pasted as text, and what they say.
import { Option, Schema } from "effect"
import { entriesIn } from "../../../src/networks/evm/rules/AuthorizationText.ts"
import { AuthorizationList } from "../../../src/networks/evm/rules/AuthorizationShapes.ts"

export type AuthorizationProblem = "not_authorizations" | "not_json_object"

const problems = { neither: "not_authorizations", printed: "not_json_object" } as const

/** A list, one object, or an entry per line. The contract judges the shapes of the entries: it reads those of all libraries. */
export const authorizationsOf = (
  text: string
): { readonly value: ReadonlyArray<unknown> } | { readonly problem: AuthorizationProblem } => {
  const read = entriesIn(text)
  return "problem" in read ? { problem: problems[read.problem] } : read
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
