// The traces that the model check found, by their labels: each is told by one test, where it proves most. Most need the driver and
// the tables. B1, B8 and B9 are properties of claims, and C7 of `decide`: tests of many states cover them.
import { assert, describe, it } from "@effect/vitest"
import { globSync, readFileSync } from "node:fs"

const numbered = (letter: string, numbers: ReadonlyArray<number>) => numbers.map((number) => `${letter}${number}`)

const labels = [
  ...numbered("A", [1, 2, 3, 4, 5, 6, 7]),
  ...numbered("B", [2, 3, 4, 5, 6, 7, 10, 11, 12, 13]),
  ...numbered("C", [1, 2, 3, 4, 5, 6, 8, 9, 10])
]

/** A label stands at the start of the title of a group of tests. */
const found = globSync("test/{networks/evm/*,server/lanes,server/ledger}/*.test.ts").flatMap((file) =>
  [...readFileSync(file, "utf8").matchAll(/\("([ABC]\d+)\b/g)].map(([, label = ""]) => label)
)

describe("the traces of the model", () => {
  it("are each told once", () => {
    assert.deepStrictEqual(found.toSorted(), labels.toSorted())
  })
})
