// Tables for a terminal.
import type { Row } from "./Results.ts"

const aligned = (lines: ReadonlyArray<ReadonlyArray<string>>): string => {
  const widths = (lines[0] ?? []).map((_, column) => Math.max(...lines.map((line) => line[column]?.length ?? 0)))
  return lines
    .map((line) =>
      line.map((cell, i) => (i < 2 ? cell.padEnd(widths[i] ?? 0) : cell.padStart(widths[i] ?? 0))).join("  ")
    )
    .join("\n")
}

const head = [
  "case",
  "contender",
  "relayers",
  "connections",
  "requests/s",
  "ratio",
  "p50 ms",
  "p99 ms",
  "server ms",
  "postgres ms",
  "MiB",
  "generator"
]

/** Contenders of one case at one size are compared to `service`. */
const ratio = (row: Row, rows: ReadonlyArray<Row>): string => {
  const service = rows.find(({ contender, size }) => contender === "service" && size === row.size)
  return service === undefined ? "" : (row.perSecond / service.perSecond).toFixed(2)
}

/** Of one case and number of connections. */
export const table = (rows: ReadonlyArray<Row>): string =>
  aligned([
    head,
    ...rows.map((row) => [
      row.case,
      row.contender,
      row.size.toLocaleString("en"),
      String(row.connections),
      row.perSecond.toFixed(0),
      ratio(row, rows),
      row.p50.toFixed(2),
      row.p99.toFixed(2),
      row.serverMs.toFixed(3),
      row.postgresMs.toFixed(3),
      row.resident.toFixed(0),
      `${(row.generatorShare * 100).toFixed(0)} %`
    ])
  ])
