// The codes of transactions that have a sentence on a network, for tests of the console.
import { KnownCode } from "../../src/networks/core/Cause.ts"
import type { Words } from "../../src/networks/core/Cause.ts"
import { explain as explainSolana } from "../../src/networks/solana/rules/SolanaWords.ts"
import { explain as explainStellar } from "../../src/networks/stellar/rules/StellarWords.ts"

const explanations = { solana: explainSolana, stellar: explainStellar }

export type Type = keyof typeof explanations

export const types = ["solana", "stellar"] as const

export const finals: ReadonlyArray<string> = ["confirmed", "failed", "canceled", "expired"]

export const states = ["pending", "sent", "submitted", "mined", ...finals]

/** A code of a version of the service that the console does not know. */
const newer = "a_code_of_a_newer_version"

export const wordsOf = (type: Type, code: string, status: string): Words =>
  explanations[type]({ code: code as KnownCode, figures: {} }, finals.includes(status))

/** The codes that have a sentence on this network, and one that has none. */
export const codesOf = (type: Type): ReadonlyArray<string> => [
  ...KnownCode.literals.filter(
    (code) => !wordsOf(type, code, "pending").reason.startsWith("The transaction's code is")
  ),
  newer
]
