// The tables of test/transactions-failures.md are complete, and the tests that they name exist.
import { assert, describe, it } from "@effect/vitest"
import { existsSync, readFileSync } from "node:fs"

const lines = readFileSync("test/transactions-failures.md", "utf8").split("\n")

const filesIn = (tests: string): ReadonlyArray<string> =>
  [...tests.matchAll(/`([^`]+)`/g)].map(([, file]) => file ?? "")

const rows = lines.flatMap((line) => {
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
      const files = filesIn(tests)
      assert.strictEqual(files.length === 0, answer?.startsWith("Does not apply") === true, `row ${number}`)
      for (const file of files) assert.isTrue(existsSync(file), `row ${number}: ${file}`)
    }
  })
})

const numbered = (letter: string, count: number) => Array.from({ length: count }, (_, index) => `${letter}${index + 1}`)

describe("the table of traces", () => {
  it("names existing tests of every trace of the model check", () => {
    const traces = lines.flatMap((line) => {
      const [, trace = "", , , tests = ""] = line.split("|").map((cell) => cell.trim())
      return /^[ABC]\d+$/.test(trace) ? [{ trace, files: filesIn(tests) }] : []
    })
    assert.deepStrictEqual(
      traces.map(({ trace }) => trace),
      [...numbered("A", 7), ...numbered("B", 13), ...numbered("C", 10)]
    )
    for (const { trace, files } of traces) {
      assert.isNotEmpty(files, trace)
      for (const file of files) assert.isTrue(existsSync(file), `${trace}: ${file}`)
    }
  })
})
