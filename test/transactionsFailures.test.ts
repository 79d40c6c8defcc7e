// The table of failures in docs/transactions-failures.md is complete, and the tests that it names exist.
import { assert, describe, it } from "@effect/vitest"
import { existsSync, readFileSync } from "node:fs"

const rows = readFileSync("docs/transactions-failures.md", "utf8")
  .split("\n")
  .flatMap((line) => {
    const [, number, failure, answer, tests] = line.split("|").map((cell) => cell.trim())
    return /^\d+$/.test(number ?? "") ? [{ number: Number(number), failure, answer, tests: tests ?? "" }] : []
  })

describe("the table of failures", () => {
  it("has fifty rows in their order, each with an answer", () => {
    assert.deepStrictEqual(
      rows.map(({ number }) => number),
      Array.from({ length: 50 }, (_, index) => index + 1)
    )
    for (const { answer, failure } of rows) assert.isAbove(Math.min(failure?.length ?? 0, answer?.length ?? 0), 20)
  })

  it("names existing tests in each row that applies", () => {
    for (const { answer, number, tests } of rows) {
      const files = [...tests.matchAll(/`([^`]+)`/g)].map(([, file]) => file ?? "")
      assert.strictEqual(files.length === 0, answer?.startsWith("Does not apply") === true, `row ${number}`)
      for (const file of files) assert.isTrue(existsSync(file), `row ${number}: ${file}`)
    }
  })
})
