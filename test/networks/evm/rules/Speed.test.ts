// How long a transaction waits before its price is raised.
import { assert, describe, it } from "@effect/vitest"
import { fasterOf } from "../../../../src/networks/core/TransactionValues.ts"
import { isPatienceOver } from "../../../../src/networks/evm/rules/InFlight.ts"

const since = { at: 0, height: 100 }

describe("patience", () => {
  it.each([
    ["fastest", 2],
    ["fast", 4],
    ["average", 6],
    ["safeLow", 10]
  ] as const)("of %s is over after %d blocks", (speed, blocks) => {
    const at = 1_000_000
    assert.isFalse(isPatienceOver(speed, since, { at, height: 100 + blocks - 1 }))
    assert.isTrue(isPatienceOver(speed, since, { at, height: 100 + blocks }))
    assert.isFalse(isPatienceOver(speed, since, { at, height: 100 + 3 * blocks - 1 }, 3))
    assert.isTrue(isPatienceOver(speed, since, { at, height: 100 + 3 * blocks }, 3))
  })

  it("takes six seconds at least, however short the blocks are", () => {
    assert.isFalse(isPatienceOver("fastest", since, { at: 5_999, height: 200 }))
    assert.isTrue(isPatienceOver("fastest", since, { at: 6_000, height: 200 }))
  })

  it("is not over while the chain stands still", () => {
    assert.isFalse(isPatienceOver("fastest", since, { at: 10 ** 9, height: 101 }))
  })

  it("of a lane is that of the most urgent speed", () => {
    assert.strictEqual(fasterOf("safeLow", "fastest"), "fastest")
    assert.strictEqual(fasterOf("fast", "average"), "fast")
  })
})
