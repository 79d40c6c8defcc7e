// Formats a run as Markdown: one text for each section of `bench/performance.md`.
import type { Goal } from "./Goals.ts"
import type { Memory, Results, Row, Start } from "./Results.ts"

export const table = (head: ReadonlyArray<string>, lines: ReadonlyArray<ReadonlyArray<string>>): string => {
  const all = [head, ...lines]
  const widths = head.map((_, column) => Math.max(3, ...all.map((line) => line[column]?.length ?? 0)))
  const row = (line: ReadonlyArray<string>) => `| ${line.map((cell, i) => cell.padEnd(widths[i] ?? 0)).join(" | ")} |`
  return [row(head), `| ${widths.map((width) => "-".repeat(width)).join(" | ")} |`, ...lines.map(row)].join("\n")
}

const count = (value: number) => Math.round(value).toLocaleString("en")

export const machine = (results: Results): string => {
  const { machine, generator, rounds, seconds, loadBefore, loadAfter, minutes, skipped } = results
  const { processor, cores, memoryGiB, system, node } = machine
  return [
    `${processor}, ${cores} cores, ${memoryGiB} GiB, ${system}, Node ${node.slice(1)}. \`${generator}\` sends;`,
    `medians of ${rounds} rounds of ${seconds} s, contenders in turn. Load of the machine ${loadBefore} before and ${loadAfter} at the`,
    `end of ${minutes} minutes.${skipped.map((line) => ` Not measured: ${line}.`).join("")}`
  ].join("\n")
}

export const goals = (all: ReadonlyArray<Goal>): string =>
  table(
    ["", "measured", "goal", ""],
    all.map(({ about, measured, goal, met }) => [about, measured, goal, met ? "met" : "**short**"])
  )

/** Requests per second relative to `contender`, for the same case, size and connections. */
const ratio = (rows: ReadonlyArray<Row>, row: Row, contender: string): string => {
  const other = rows.find(
    (each) =>
      each.contender === contender &&
      each.case === row.case &&
      each.size === row.size &&
      each.connections === row.connections
  )
  return other === undefined ? "" : (row.perSecond / other.perSecond).toFixed(2)
}

export const requests = (rows: ReadonlyArray<Row>): string =>
  table(
    [
      "case",
      "relayers",
      "connections",
      "",
      "requests/s",
      "to Fastify",
      "p50 ms",
      "p99 ms",
      "CPU ms, server",
      "CPU ms, PostgreSQL",
      "MiB",
      "generator's CPU"
    ],
    rows.map((row) => [
      row.case,
      count(row.size),
      String(row.connections),
      row.contender,
      count(row.perSecond),
      ratio(rows, row, "fastify"),
      row.p50.toFixed(2),
      row.p99.toFixed(2),
      row.serverMs === 0 ? "" : row.serverMs.toFixed(3),
      row.postgresMs === 0 ? "" : row.postgresMs.toFixed(3),
      row.resident === 0 ? "" : row.resident.toFixed(0),
      `${(row.generatorShare * 100).toFixed(0)} %`
    ])
  )

export const starts = (all: ReadonlyArray<Start>): string =>
  table(
    ["start", "ms", ...(all[0]?.steps ?? []).map(({ name }) => name)],
    all.map(({ kind, ms, steps }) => [kind, ms.toFixed(0), ...steps.map((step) => step.ms.toFixed(0))])
  )

export const memory = ({ idle, minutes, requests, samples, slope, standardError }: Memory): string =>
  [
    `Idle, ${idle.service.toFixed(0)} MiB resident for the service and ${idle.postgres.toFixed(0)} MiB proportional for all processes of its PostgreSQL.`,
    `After ${minutes} minutes and ${count(requests)} requests, nine reads to one create at 64 connections, ${(samples.at(-1)?.[1] ?? 0).toFixed(0)} MiB;`,
    `slope without the first fifth ${(slope * 60).toFixed(1)} ± ${(standardError * 60).toFixed(1)} MiB an hour.`
  ].join("\n")
