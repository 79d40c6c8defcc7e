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

const protections = /^\| Columns .*?\n\n/ms.exec(texts)?.[0] ?? ""

for (const table of tables) {
  it(`SECURITY.md says how the table ${table} is protected`, () => {
    assert.match(protections, new RegExp(`\`${table}[\`.]`))
  })
}
