// Each of the 48 traces of the design of configurations, and each of its invalid inputs, has a test, which a table names.
import { assert, describe, it } from "@effect/vitest"
import * as fs from "node:fs"

const folder = new URL("../../", import.meta.url)

const read = (name: string) => fs.readFileSync(new URL(name, folder), "utf8")

const [traces = "", inputs = ""] = read("server/configuration/README.md").split("\n## What bad input gets\n")

/** The rows of a table, without its header. */
const rowsOf = (text: string) => [...text.matchAll(/^\| ((?!Trace|Input|-)\S.*?) +\| (.*?) +\|$/gm)]

const rows = rowsOf(traces)

const inputRows = rowsOf(inputs)

/** Asserts that each test which a row names exists. */
const checkTests = (tests: string) => {
  const named = [...tests.matchAll(/`([\w/]+)`: (.*?)(?=; `|$)/g)]
  assert.isAbove(named.length, 0, tests)
  for (const [, file = "", title = ""] of named) {
    const text = read(`${file}.test.ts`)
    assert.match(text, /\bit(\.\w+)*(\(|\)\()/, file)
    assert.include(text, title, file)
  }
}

describe("the traces of configurations", () => {
  it("are all in the table", () => {
    assert.deepStrictEqual(
      rows.map(([, trace]) => Number(trace)),
      Array.from({ length: 48 }, (_, index) => index + 1)
    )
  })

  it.each(rows.map(([, trace = "", tests = ""]) => [trace, tests]))(
    "%s has the test that the table names",
    (_, tests) => checkTests(tests)
  )
})

describe("invalid inputs of configurations", () => {
  it("are all in the table", () => {
    assert.lengthOf(inputRows, 34)
  })

  it.each(inputRows.map(([, input = "", tests = ""]) => [input, tests]))(
    "%s: has the tests that the table names",
    (_, tests) => checkTests(tests)
  )
})
