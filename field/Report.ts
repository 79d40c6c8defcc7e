// The tables of the nodes in docs/tested-on.md. A run replaces the tables of the nodes that it tried, and keeps the others.
import { Console, Effect } from "effect"
import * as fs from "node:fs/promises"
import * as path from "node:path"
import { holds } from "./Sheet.ts"
import type { Row } from "./Sheet.ts"

const file = path.resolve(import.meta.dirname, "../docs/tested-on.md")

export interface Result {
  readonly name: string
  readonly version: string
  readonly mode: string
  /** As in 2026-11-27. */
  readonly date: string
  readonly rows: ReadonlyArray<Row>
}

const cell = (text: string) => text.replaceAll("|", "\\|").replaceAll("\n", " ")

export const table = ({ rows }: Result): string =>
  [
    "| Case | Expected | Seen |",
    "| --- | --- | --- |",
    ...rows.map((row) => {
      const seen = row.expected === row.seen ? "the same" : `**${cell(row.seen)}**`
      return `| ${cell(row.name)} | ${cell(row.expected)} | ${seen} |`
    })
  ].join("\n")

const section = (result: Result): string => {
  const { date, mode, name, rows, version } = result
  const differ = rows.filter((row) => !holds(row)).length
  const verdict = differ === 0 ? "all cases as expected" : `${differ} of ${rows.length} cases differ`
  return `## ${name}\n\n${version}, ${mode}. ${date}: ${verdict}.\n\n${table(result)}\n`
}

/** The text of the document before its first section, and its sections by their names. */
const parse = (text: string) => {
  const [head = "", ...sections] = text.split(/^(?=## )/m)
  return { head, sections: new Map(sections.map((one) => [/^## (.+)$/m.exec(one)?.[1] ?? "", one])) }
}

export const write = Effect.fnUntraced(function* (results: ReadonlyArray<Result>) {
  const { head, sections } = parse(yield* Effect.promise(() => fs.readFile(file, "utf8")))
  for (const result of results) sections.set(result.name, section(result))
  const text = [head, ...[...sections.values()].map((one) => `${one.trimEnd()}\n\n`)].join("")
  yield* Effect.promise(() => fs.writeFile(file, `${text.trimEnd()}\n`))
  yield* Console.log(`\nwrote ${path.relative(process.cwd(), file)}: format it with npm run format`)
})
