// The calls of one transaction as a person enters them, a row for each, and as a body has them.
import { batchSize } from "../../../src/networks/evm/rules/Batch.ts"
import { exact, parse } from "./Amounts.ts"
import type { AmountProblem } from "./Amounts.ts"

/** What is entered of a call. Empty parts are absent. */
export interface CallRow {
  readonly to: string
  /** In the unit that is chosen for all rows. */
  readonly value: string
  readonly data: string
}

export const callParts = ["to", "value", "data"] as const

export const noCall: CallRow = { to: "", value: "", data: "" }

export { batchSize }

const isObject = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === "object" && value !== null && !Array.isArray(value)

const partOf = (value: unknown): string => (value === undefined || value === null ? "" : String(value))

/** The rows of an entered text. A text that is none has no rows. */
export const rowsOf = (text: string): ReadonlyArray<CallRow> => {
  if (text.trim() === "") return []
  try {
    const given: unknown = JSON.parse(text)
    return Array.isArray(given)
      ? given
          .filter(isObject)
          .map(({ to, value, data }) => ({ to: partOf(to), value: partOf(value), data: partOf(data) }))
      : []
  } catch {
    return []
  }
}

/** Without rows, nothing is entered. */
export const textOfRows = (rows: ReadonlyArray<CallRow>): string => (rows.length === 0 ? "" : JSON.stringify(rows))

/** Whether the path, such as `1.to`, leads to an input of a row. */
export const isPartOfRow = (rows: ReadonlyArray<CallRow>, path: string): boolean => {
  const [index = "", name = "", ...rest] = path.split(".")
  return (
    rest.length === 0 && /^\d+$/.test(index) && Number(index) < rows.length && callParts.some((part) => part === name)
  )
}

type RowProblem = AmountProblem | "required"

/** The calls of a body. Amounts are decimal texts in the smallest unit. Problems are named by the place of the row. */
export const callsOf = (rows: ReadonlyArray<CallRow>, decimals: number) => {
  const problems: Record<string, RowProblem> = {}
  const value = rows.map((row, index) => {
    const [to, amount, data] = [row.to.trim(), row.value.trim(), row.data.trim()]
    const parsed = amount === "" ? undefined : parse(amount, decimals)
    if (to === "") problems[`${index}.to`] = "required"
    if (parsed?.ok === false) problems[`${index}.value`] = parsed.problem
    return {
      to,
      ...(parsed?.ok === true ? { value: parsed.value.toString() } : {}),
      ...(data === "" ? {} : { data })
    }
  })
  return { value, problems }
}

/** What a person would have entered for the calls of a body. */
export const textOfCalls = (calls: ReadonlyArray<unknown>, decimals: number): string =>
  textOfRows(
    calls.filter(isObject).map(({ to, value, data }) => ({
      to: partOf(to),
      value: value === undefined ? "" : exact(BigInt(String(value)), decimals),
      data: partOf(data)
    }))
  )

/** What all calls send together, as far as their amounts can be read. */
export const sumOf = (rows: ReadonlyArray<CallRow>, decimals: number): bigint =>
  rows.reduce((sum, { value }) => {
    const parsed = parse(value, decimals)
    return parsed.ok ? sum + parsed.value : sum
  }, 0n)
