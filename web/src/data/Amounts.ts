// Amounts in the smallest unit of a chain, as exact integers, and how people read and write them.
import { exact, native as smallestUnits } from "../../../src/domain/chain/WholeUnits.ts"

export { exact, smallestUnits }

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

/** With the symbol, and no digit cut: what a person agrees to. */
export const full = (value: bigint, { symbol, decimals }: Unit): string => {
  const [whole = "0", fraction] = exact(value, decimals).split(".")
  return `${grouped(BigInt(whole))}${fraction === undefined ? "" : `.${fraction}`} ${symbol}`
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

// Amounts in sentences of the service, which writes them in the smallest unit.

export interface Quantity {
  readonly value: bigint
  readonly unit: Unit
}

/** An evm amount of a network whose symbol is not known. */
export const ofSomeChain: Unit = { ...smallestUnits.evm, symbol: "× 10¹⁸ wei" }

const written = /(\d+) (wei|lamports?|stroops?)( per gas)?(?![\w])/g

/** A sentence with a price has no other amounts. */
const isAboutPrices = (sentence: string): boolean => / wei per gas|gas price of \d/.test(sentence)

const unitIn = (name: string, native: Unit | undefined): Unit => {
  if (name.startsWith("lamport")) return smallestUnits.solana
  if (name.startsWith("stroop")) return smallestUnits.stellar
  return native?.decimals === smallestUnits.evm.decimals ? native : ofSomeChain
}

/** `native`: the unit of the network that the text is about, if it is known. */
export const amountsIn = (text: string, native?: Unit): ReadonlyArray<string | Quantity> =>
  text.split(/(?<=[.;:] )/).flatMap((sentence) => {
    const parts: Array<string | Quantity> = []
    let end = 0
    for (const match of sentence.matchAll(written)) {
      const [all, digits = "0", name = "wei", perGas] = match
      parts.push(sentence.slice(end, match.index))
      const isPrice = name === "wei" && isAboutPrices(sentence)
      parts.push({ value: BigInt(digits), unit: isPrice ? gwei : unitIn(name, native) })
      if (perGas !== undefined) parts.push(perGas)
      end = match.index + all.length
    }
    return [...parts, sentence.slice(end)]
  })
