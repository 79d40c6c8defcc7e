// docs/architecture.md lists the files of two walks through the code. This test compares the lists with the code, and counts what
// makes a walk long. It also compares the floors of the features.
import { assert, describe, it } from "@effect/vitest"
import { existsSync, globSync, readdirSync, readFileSync } from "node:fs"
import * as path from "node:path"

/** They only name other files. */
const starts = ["server/Server.ts", "server/Services.ts", "api/Api.ts", "sql/migrations/index.ts"]

const textOf = (file: string) => readFileSync(path.join("src", file), "utf8")

const importsOf = (file: string): ReadonlyArray<string> =>
  [...textOf(file).matchAll(/\b(?:from|import)\s*\(?\s*"(\.[^"]+)"/g)].map(([, target = ""]) =>
    path.posix.join(path.posix.dirname(file), target)
  )

const sections = readFileSync("docs/architecture.md", "utf8").split(/^#{2,3} /m)

const filesOf = (heading: string): ReadonlyArray<string> => {
  const section = sections.findLast((text) => text.startsWith(heading)) ?? ""
  return [...section.matchAll(/^\| .*$/gm)].flatMap(([row]) =>
    [...row.matchAll(/`([\w/]+\.ts)`/g)].map(([, file = ""]) => file)
  )
}

/** Files that no earlier one imports. */
const unreached = (files: ReadonlyArray<string>): ReadonlyArray<string> => {
  const reached = new Set(starts.flatMap(importsOf))
  return files.filter((file) => {
    const isReached = reached.has(file)
    for (const target of importsOf(file)) reached.add(target)
    return !isReached
  })
}

/** `files`: the goal. */
const walks = [
  { heading: "`POST /api/v1/relayers`", files: 45 },
  { heading: "An evm transaction, from HTTP to `confirmed`", files: 85 }
]

describe.each(walks)("the files of $heading", ({ heading, files: most }) => {
  const files = filesOf(heading)

  it("exist, and each is named once", () => {
    assert.isAbove(files.length, 0)
    assert.deepStrictEqual(
      files.filter((file) => !existsSync(path.join("src", file))),
      []
    )
    assert.strictEqual(new Set(files).size, files.length)
  })

  it("are each imported by one before it", () => {
    assert.deepStrictEqual(unreached(files.filter((file) => existsSync(path.join("src", file)))), [])
  })

  it(`are at most ${most}`, () => {
    assert.isAtMost(files.length, most)
  })
})

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

const mostSmall = 80

describe("the sources", () => {
  const sources = globSync("src/**/*.ts")

  it("have few files of less than 25 lines: such a file with one user belongs to its user", () => {
    const small = sources.filter(
      (file) => !file.includes("/migrations/") && readFileSync(file, "utf8").split("\n").length <= 25
    )
    assert.isAtMost(small.length, mostSmall)
  })

  it("have few services: what only needs services is an effect `make`", () => {
    const services = sources.flatMap((file) => readFileSync(file, "utf8").match(/extends Context\.Service</g) ?? [])
    assert.isAtMost(services.length, 70)
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
