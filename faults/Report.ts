// Reports a run: one line per case, and a table in faults/cases.md.
import { Effect } from "effect"
import * as fs from "node:fs"
import * as os from "node:os"
import * as path from "node:path"
import type { Case, Tally } from "./Case.ts"

export interface Result {
  readonly case: Case
  readonly tally: Tally
  readonly seconds: number
}

const outcome = ({ tally }: Result): string =>
  tally.broken.length > 0 ? "BROKEN" : tally.skipped === undefined ? "held" : "skipped"

const counts = ({ tally }: Result): string => tally.skipped ?? tally.text

/** Characters, for the longest name and two blanks. */
export const nameWidth = 18

export const line = (result: Result): string =>
  `${result.case.name.padEnd(nameWidth)}${outcome(result).padEnd(9)}${`${result.seconds.toFixed(0)} s`.padEnd(8)}${counts(result)}`

const file = path.resolve(import.meta.dirname, "../faults/cases.md")
const section = /(<!-- figures -->\n)([\s\S]*)(<!-- end of figures -->)/

const rowOf = (result: Result): string =>
  `| ${result.case.name} | ${outcome(result)} | ${counts(result)} | ${result.seconds.toFixed(0)} |`

const nameIn = (row: string): string => row.split("|")[1]?.trim() ?? ""

/** The rows of cases that did not run stay. */
const table = (figures: string, results: ReadonlyArray<Result>): string => {
  const former = figures.split("\n").filter((line) => line.startsWith("|"))
  const rows = new Map(former.slice(2).map((row) => [nameIn(row), row]))
  for (const result of results) rows.set(result.case.name, rowOf(result))
  return ["| Case | Promises | Counted | Seconds |", "| --- | --- | --- | --- |", ...rows.values()].join("\n")
}

/** Replaces the figures of the cases that ran. */
export const write = (results: ReadonlyArray<Result>, seed: number): Effect.Effect<void> =>
  Effect.sync(() => {
    const load = os.loadavg().map((value) => value.toFixed(1))
    const where = `The last run: seed ${seed}, ${os.availableParallelism()} cores, Node ${process.versions.node}; load of the machine at the end (1, 5, 15 minutes): ${load.join(", ")}.`
    const replaced = (_: string, begin: string, figures: string, end: string) =>
      `${begin}\n${where}\n\n${table(figures, results)}\n\n${end}`
    fs.writeFileSync(file, fs.readFileSync(file, "utf8").replace(section, replaced))
  })
