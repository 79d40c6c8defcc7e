// Text in aligned columns.
import { CliOutput } from "effect/cli"

/** Replaces characters that do not print, or that move the cursor, by `?`. The text may come from a user of the API. */
export const printable = (text: string): string => text.replace(/[\p{Cc}\u202a-\u202e\u2066-\u2069]/gu, "?")

/** Shown in an empty cell. */
const none = "-"

/** Each column is as wide as its widest cell. Two spaces separate columns, and no line ends with spaces. */
export const lines = (rows: ReadonlyArray<ReadonlyArray<string | undefined>>): ReadonlyArray<string> => {
  const cells = rows.map((row) => row.map((cell) => (cell === undefined || cell === "" ? none : printable(cell))))
  const widths: Array<number> = []
  for (const row of cells) {
    for (const [column, cell] of row.entries()) {
      widths[column] = Math.max(widths[column] ?? 0, CliOutput.displayWidth(cell))
    }
  }
  const pad = (cell: string, column: number) => cell + " ".repeat((widths[column] ?? 0) - CliOutput.displayWidth(cell))
  return cells.map((row) => row.map(pad).join("  ").trimEnd())
}

const isScalar = (value: unknown): boolean => typeof value !== "object" || value === null

const scalar = (value: unknown): string => (value === null ? none : String(value))

/** The fields of a JSON value with their paths: `policies.min_balance`, `custom_rpc_urls.0.url`. */
export const fields = (value: unknown, path = ""): ReadonlyArray<readonly [path: string, value: string]> => {
  if (isScalar(value)) return [[path, scalar(value)]]
  if (Array.isArray(value) && value.every(isScalar)) return [[path, value.map(scalar).join(", ")]]
  return Object.entries(value as object).flatMap(([key, child]) => fields(child, path === "" ? key : `${path}.${key}`))
}
