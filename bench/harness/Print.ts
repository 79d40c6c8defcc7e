// Formats the results as tables for a terminal.
import type { Goal } from "./Goals.ts"
import type { Row, Start } from "./Results.ts"

/** The first `left` columns are aligned to the left, the others to the right. */
export const aligned = (lines: ReadonlyArray<ReadonlyArray<string>>, left: number): string => {
  const widths = (lines[0] ?? []).map((_, column) => Math.max(...lines.map((line) => line[column]?.length ?? 0)))
  const cell = (text: string, column: number) =>
    column < left ? text.padEnd(widths[column] ?? 0) : text.padStart(widths[column] ?? 0)
  return lines.map((line) => line.map(cell).join("  ").trimEnd()).join("\n")
}

const columns = {
  contender: ({ contender }: Row) => contender,
  relayers: ({ size }: Row) => size.toLocaleString("en"),
  connections: ({ connections }: Row) => String(connections),
  "requests/s": ({ perSecond }: Row) => perSecond.toFixed(0),
  "p50 ms": ({ p50 }: Row) => p50.toFixed(2),
  "p99 ms": ({ p99 }: Row) => p99.toFixed(2),
  "server ms": ({ serverMs }: Row) => (serverMs === 0 ? "" : serverMs.toFixed(3)),
  "postgres ms": ({ postgresMs }: Row) => postgresMs.toFixed(3),
  MiB: ({ resident }: Row) => (resident === 0 ? "" : resident.toFixed(0)),
  generator: ({ generatorShare }: Row) => `${(generatorShare * 100).toFixed(0)} %`
}

/** Requests per second relative to the first row of the same size. */
const ratio = (row: Row, rows: ReadonlyArray<Row>) =>
  (row.perSecond / (rows.find(({ size }) => size === row.size)?.perSecond ?? Number.NaN)).toFixed(2)

/** The rows of one case. */
export const rows = (all: ReadonlyArray<Row>): string =>
  aligned(
    [
      [...Object.keys(columns), "ratio"],
      ...all.map((row) => [...Object.values(columns).map((column) => column(row)), ratio(row, all)])
    ],
    1
  )

export const starts = (all: ReadonlyArray<Start>): string =>
  aligned(
    [
      ["start", "ms", ...(all[0]?.steps ?? []).map(({ name }) => name)],
      ...all.map(({ kind, ms, steps }) => [kind, ms.toFixed(0), ...steps.map((step) => step.ms.toFixed(0))])
    ],
    1
  )

export const goals = (all: ReadonlyArray<Goal>): string =>
  aligned(
    [
      ["goal", "measured", "wanted", ""],
      ...all.map(({ about, goal, measured, met }) => [about, measured, goal, met ? "ok" : "short"])
    ],
    4
  )
