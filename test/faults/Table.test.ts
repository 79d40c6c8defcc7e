// The tables of faults/README.md: each fault about sending has tests with their names, and each test and case that is named exists.
import { assert, describe, it } from "@effect/vitest"
import * as fs from "node:fs"

const text = fs.readFileSync("faults/README.md", "utf8")
const cases = fs.readFileSync("faults/cases.md", "utf8")
const benchmark = fs.readFileSync("bench/transactions/evm/Cases.ts", "utf8")

const sectionOf = (title: string): string => text.split(`## ${title}\n`)[1]?.split("\n## ")[0] ?? ""

/** The faults of a table, with their numbers in the list that they are from. */
const rowsOf = (section: string) =>
  section.split("\n").flatMap((line) => {
    const [, fault = "", tests = ""] = line.split("|").map((cell) => cell.trim())
    return tests === "" || fault === "Fault" || fault.startsWith("--") ? [] : [{ fault, tests }]
  })

const named = [...text.matchAll(/`(test\/[\w/]+\.test\.ts)`: "([^"]+)"/g)]

describe("the table of faults", () => {
  it("has the thirteen faults about sending, each with a test by its name", () => {
    const rows = rowsOf(sectionOf("Sending of evm transactions")).filter(({ fault }) => /^\d+: /.test(fault))
    assert.deepStrictEqual(
      rows.map(({ fault }) => Number.parseInt(fault, 10)),
      Array.from({ length: 13 }, (_, index) => index + 1)
    )
    for (const { fault, tests } of rows) assert.match(tests, /`test\/[\w/]+\.test\.ts`: "/, fault)
  })

  it("has each row of the table about security", () => {
    const numbers = rowsOf(sectionOf("Security")).map(({ fault }) => Number.parseInt(fault, 10))
    assert.deepStrictEqual([...new Set(numbers)].toSorted(), [1, 2, 3, 4, 5, 6, 7])
  })

  it("names a test or a case for each fault about security and people", () => {
    const rows = [...rowsOf(sectionOf("Security")), ...rowsOf(sectionOf("People"))]
    assert.isAbove(rows.length, 20)
    for (const { fault, tests } of rows) assert.match(tests, /`test\/[\w/]+\.test\.ts`|`npm run faults/, fault)
  })

  it("names a test by its name for each annoyance, weakness, surprise and contradiction of first users", () => {
    const rows = rowsOf(sectionOf("First users"))
    for (const { fault, tests } of rows) assert.match(tests, /^`test\/[\w/]+\.test\.ts`: "/, fault)
    const numbers = rows.flatMap(({ fault }) => /^annoyance (\d+): /.exec(fault)?.[1] ?? [])
    assert.deepStrictEqual(
      numbers,
      Array.from({ length: 10 }, (_, index) => String(index + 1))
    )
    const count = (kind: string) => rows.filter(({ fault }) => fault.startsWith(`${kind}: `)).length
    assert.deepStrictEqual(
      ["also", "weak", "surprise", "contradiction"].map((kind) => count(kind)),
      [3, 9, 2, 7]
    )
  })

  it("names files that exist", () => {
    const files = [...text.matchAll(/`((?:test|faults|tools|scripts)\/[\w/.]+)`/g)].map(([, file = ""]) => file)
    assert.isAbove(files.length, 40)
    for (const file of files) assert.isTrue(fs.existsSync(file), file)
  })

  it("names cases that exist", () => {
    const found = [...text.matchAll(/the case `([a-z-]+)`(?! of)|run faults -- ([a-z-]+)/g)].map(
      ([, one, other]) => one ?? other
    )
    assert.includeMembers(found, ["relay-copy"])
    for (const name of found) assert.match(cases, new RegExp(`^\\| ${name} +\\|`, "m"))
    assert.include(benchmark, '"commands"')
  })

  for (const [, file = "", name = ""] of named) {
    it(`${file} contains the test "${name}"`, () => {
      assert.include(fs.readFileSync(file, "utf8"), name)
    })
  }
})
