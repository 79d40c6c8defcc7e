// Amounts in the smallest unit of a chain, as exact integers, and how people read and write them.
import { exact, native } from "../../../src/domain/chain/WholeUnits.ts"

export { exact, native as smallestUnits }

/** The native token of a chain. */
export interface Unit {
  readonly symbol: string
  readonly decimals: number
  /** Name of the smallest unit. */
  readonly smallest: string
}

/** Prices of gas are read in units of 1,000,000,000 wei. */
export const gwei: Unit = { symbol: "gwei", decimals: 9, smallest: "wei" }

/** Writes the number with separators of thousands. */
export const grouped = (value: bigint | number): string => value.toLocaleString("en-US")

/** Digits after the point that a list shows. */
const shownDigits = 6

/** A short form for reading. "…" marks where digits were cut, and the tooltip has the exact integer. */
export const short = (value: bigint, decimals: number): string => {
  const [whole = "0", fraction = ""] = exact(value, decimals).split(".")
  const head = grouped(BigInt(whole === "-0" ? "0" : whole))
  const sign = whole === "-0" ? "-" : ""
  if (fraction === "") return `${sign}${head}`
  if (fraction.length <= shownDigits) return `${sign}${head}.${fraction}`
  return `${sign}${head}.${fraction.slice(0, shownDigits)}…`
}

/** With the symbol. An amount without a digit in the short form is written in the smallest unit: one wei is not "0.000000… ETH". */
export const shown = (value: bigint, { symbol, decimals, smallest }: Unit): string => {
  const text = short(value, decimals)
  return value !== 0n && !/[1-9]/.test(text) ? `${grouped(value)} ${smallest}` : `${text} ${symbol}`
}

export type Parsed =
  | { readonly ok: true; readonly value: bigint }
  | { readonly ok: false; readonly problem: AmountProblem }

export type AmountProblem = "empty" | "not_decimal" | "too_many_decimals" | "too_large"

/** Amounts have at most 128 bits. */
const limit = 2n ** 128n

const problem = (problem: AmountProblem): Parsed => ({ ok: false, problem })

/** Reads a decimal number of units exactly, such as 1.5 and 1e18. Separators and signs are refused, because they may be mistakes. */
export const parse = (text: string, decimals: number): Parsed => {
  const trimmed = text.trim()
  if (trimmed === "") return problem("empty")
  const match = /^(\d+)(?:\.(\d+))?(?:[eE]\+?(\d{1,2}))?$/.exec(trimmed)
  if (match === null) return problem("not_decimal")
  const [, whole = "0", fraction = "", exponent = "0"] = match
  const zeros = decimals + Number(exponent)
  if (fraction.length > zeros) return problem("too_many_decimals")
  const value = BigInt(whole + fraction.padEnd(zeros, "0"))
  return value >= limit ? problem("too_large") : { ok: true, value }
}
