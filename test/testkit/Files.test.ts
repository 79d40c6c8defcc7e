// The files of `npm test`: which are started first, and which use the clock of the machine.
import { assert, describe, it } from "@effect/vitest"
import { existsSync, readFileSync, readdirSync } from "node:fs"
import * as path from "node:path"
import { longest } from "../../testkit/LongFirst.ts"
import { saysWhy, usesRealClock } from "../../testkit/RealClock.ts"

/** Tests of `npm test` and those that need packages or services of their own. */
const files = readdirSync("test", { recursive: true, encoding: "utf8" })
  .filter((name) => name.endsWith(".test.ts"))
  .map((name) => path.join("test", name))

describe("the files that are started first", () => {
  it("exist, and are named once", () => {
    assert.deepStrictEqual(
      longest.filter((file) => !existsSync(file)),
      []
    )
    assert.strictEqual(new Set(longest).size, longest.length)
  })
})

describe("each file that uses the clock of the machine", () => {
  it("says why in the comment that it begins with", () => {
    const texts = new Map(files.map((file) => [file, readFileSync(file, "utf8")]))
    const real = [...texts].filter(([, text]) => usesRealClock(text))
    assert.isNotEmpty(real)
    assert.deepStrictEqual(
      real.filter(([, text]) => !saysWhy(text)).map(([file]) => file),
      []
    )
  })

  it("is recognized by how its tests or its layers ask for it", () => {
    // This file does not ask for it.
    const [live, excluded] = [["it", "live"].join("."), `excludeTestServices: ${true}`]
    assert.isTrue(usesRealClock(`${live}("waits", () => run)`))
    assert.isTrue(usesRealClock(`layer(api, { ${excluded}, concurrent: true })`))
    assert.isFalse(usesRealClock("const live = () => run\nlive()"))
    assert.isFalse(saysWhy('import "x"\n// By the clock of the machine.'))
  })
})
