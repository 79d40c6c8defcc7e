// The order of the files of `npm test`.
import { assert, describe, it } from "@effect/vitest"
import { existsSync } from "node:fs"
import { longest } from "../../testkit/LongFirst.ts"

describe("the files that are started first", () => {
  it("exist, and are named once", () => {
    assert.deepStrictEqual(
      longest.filter((file) => !existsSync(file)),
      []
    )
    assert.strictEqual(new Set(longest).size, longest.length)
  })
})
