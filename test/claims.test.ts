// Every test that SECURITY.md and its tables name for a claim exists, under the name that is given there, and every table is in the list of columns.
import { assert, it } from "@effect/vitest"
import * as fs from "node:fs"
import * as path from "node:path"
import { tables } from "../src/sql/migrations/objects.ts"

const root = path.resolve(import.meta.dirname, "..")
const read = (file: string) => fs.readFileSync(path.join(root, file), "utf8")

const tablesOfAttacks = fs.readdirSync(path.join(root, "docs/security")).map((name) => `docs/security/${name}`)
const texts = ["SECURITY.md", ...tablesOfAttacks].map(read).join("\n\n")

const claims = [...texts.matchAll(/`((?:test|tools)\/[\w/]+\.test\.ts)`: "([^"]+)"/g)]

it("SECURITY.md names a test for each of more than twenty claims", () => {
  assert.isAbove(claims.length, 20)
})

for (const [, file = "", name = ""] of claims) {
  it(`${file} contains the test "${name}"`, () => {
    assert.include(read(file), name)
  })
}

/** The rows of the table of attacks on stellar in the design, which the names of tests have, too. */
const attacksOnStellar = 49

/** `rows 6 to 9, 11` as numbers. */
const numbersIn = (rows: string): ReadonlyArray<number> =>
  rows.split(", ").flatMap((part) => {
    const [from = 0, to = from] = part.split(" to ").map(Number)
    return Array.from({ length: to - from + 1 }, (_, index) => from + index)
  })

it("docs/security/stellar.md has each attack of the design, and a test for it", () => {
  const table = [...read("docs/security/stellar.md").matchAll(/^\| [^|]*\(rows? (\d[\d, to]*)\) +\|([^|]*)\|$/gm)]
  const rows = new Set(table.flatMap(([, numbers = ""]) => numbersIn(numbers)))
  assert.deepStrictEqual(
    [...rows].toSorted((one, other) => one - other),
    Array.from({ length: attacksOnStellar }, (_, index) => index + 1)
  )
  for (const [, numbers, stops = ""] of table) assert.match(stops, /`test\/[\w/]+\.test\.ts`/, `rows ${numbers}`)
})

const protections = /^\| Columns .*?\n\n/ms.exec(texts)?.[0] ?? ""

for (const table of tables) {
  it(`SECURITY.md says how the table ${table} is protected`, () => {
    assert.match(protections, new RegExp(`\`${table}[\`.]`))
  })
}
