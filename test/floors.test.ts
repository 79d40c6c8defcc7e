// docs/architecture.md lists the floors of the features. This test compares the list with the linter and with the folders. It also
// refuses names of types that say nothing.
import { assert, describe, it } from "@effect/vitest"
import { globSync, readdirSync, readFileSync } from "node:fs"

const sections = readFileSync("docs/architecture.md", "utf8").split(/^#{2,3} /m)

describe("the features of the server", () => {
  const listed: unknown = JSON.parse(
    /const floors[^=]*= (\[[^;]*?\n\])/.exec(readFileSync("oxlint.config.ts", "utf8"))?.[1] ?? assert.fail("no floors")
  )
  const rows = [...(sections.find((text) => text.startsWith("Floors")) ?? "").matchAll(/^\| ([ \d]+) +\| `(\w+)`/gm)]

  it("have the floors in docs/architecture.md that the linter enforces", () => {
    const floors: Array<Array<string>> = []
    let floor = 0
    for (const [, number = "", feature = ""] of rows) {
      if (number.trim() !== "") floor = Number(number)
      floors[floor] = [...(floors[floor] ?? []), feature].sort()
    }
    const enforced = Array.isArray(listed) ? listed.map((features: ReadonlyArray<string>) => [...features].sort()) : []
    assert.deepStrictEqual(floors, enforced)
  })

  it("are the folders of src/server", () => {
    const folders = readdirSync("src/server", { withFileTypes: true }).filter((entry) => entry.isDirectory())
    assert.sameMembers(
      rows.map(([, , feature]) => feature),
      folders.map(({ name }) => name)
    )
  })
})

describe("the sources", () => {
  const sources = globSync("src/**/*.ts")

  // PostgreSQL may read such a list again for each row, and then it skips rows that it has locked, and takes others. It reads an array once.
  it("compare no column with a list that has a limit and skips locked rows", () => {
    const lists = sources.filter((file) =>
      /\bIN \(\s*SELECT(?:(?!\bIN \(\s*SELECT)[^`])*?\bLIMIT\b[^`)]*\bSKIP LOCKED/.test(readFileSync(file, "utf8"))
    )
    assert.deepStrictEqual(lists, [])
  })

  it("name no type by a word that says nothing without its file", () => {
    const vague = sources.flatMap((file) =>
      [
        ...readFileSync(file, "utf8").matchAll(
          /\b(?:interface|type|class|const|namespace) (?:Signed|Wanted|Asked|Known|Given|Ways)\b/g
        )
      ].map(([text]) => `${file}: ${text}`)
    )
    assert.deepStrictEqual(vague, [])
  })
})
