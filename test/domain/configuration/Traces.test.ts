// Each of the 48 traces of the design of configurations has a test, which the table of them names.
import { assert, describe, it } from "@effect/vitest"
import * as fs from "node:fs"

const folder = new URL("../../", import.meta.url)

const read = (name: string) => fs.readFileSync(new URL(name, folder), "utf8")

const rows = [...read("server/configuration/README.md").matchAll(/^\| (\d+) +\| (.*?) +\|$/gm)]

describe("the traces of configurations", () => {
  it("are all in the table", () => {
    assert.deepStrictEqual(
      rows.map(([, trace]) => Number(trace)),
      Array.from({ length: 48 }, (_, index) => index + 1)
    )
  })

  it.each(rows.map(([, trace = "", tests = ""]) => [trace, tests]))(
    "%s has the test that the table names",
    (_, tests) => {
      const named = [...tests.matchAll(/`([\w/]+)`: (.*?)(?=; `|$)/g)]
      assert.isAbove(named.length, 0, tests)
      for (const [, file = "", title = ""] of named) {
        const text = read(`${file}.test.ts`)
        assert.match(text, /\bit(\.\w+)*(\(|\)\()/, file)
        assert.include(text, title, file)
      }
    }
  )
})
