// Until which block height bytes can land.
import { assert, describe, it } from "@effect/vitest"
import { boundOf, boundOfOwn } from "../../../../src/networks/solana/rules/RequestBytes.ts"

/** What a provider says whose newest block has this height. */
const second = (height: number, over: object = {}) => ({ isValid: true, height, life: 150, ...over })
const reported = { lastValid: 1150, height: 1000 }

describe("the bound of a blockhash", () => {
  it("is the reported end and one block, for which the runtime still takes the bytes", () => {
    assert.strictEqual(boundOf(reported, [second(990)]), 1151)
  })

  it("is not below a life after the height of another provider, nor below the longest life", () => {
    assert.strictEqual(boundOf({ lastValid: 1100, height: 1000 }, [second(1000)]), 1151)
    assert.strictEqual(boundOf(reported, [second(1005, { life: 300 })]), 1306)
  })

  it("is unknown without another provider, and if one does not know the blockhash or reports no possible life", () => {
    assert.isUndefined(boundOf(reported, []))
    assert.isUndefined(boundOf(reported, [second(1000), second(1000, { isValid: false })]))
    assert.isUndefined(boundOf(reported, [second(1000, { life: 99 })]))
    assert.isUndefined(boundOf({ lastValid: 1601, height: 1000 }, [second(1000)]))
  })
})

describe("the bound of a blockhash that a request brings", () => {
  const answer = (over: object = {}) => ({ ...second(1000), slot: 2000, ...over })

  it("counts a whole life from the highest of the heights, and two lives back from the lowest slot", () => {
    const found = boundOfOwn("hash", [answer(), answer({ height: 1004, slot: 1990 })], 2)
    assert.deepStrictEqual(found, { blockhash: "hash", bound: 1155, signedSlot: 1690 })
  })

  it("is dead if as many providers as must agree do not know it, and unavailable if too few know it", () => {
    const unknown = answer({ isValid: false })
    assert.strictEqual(boundOfOwn("hash", [unknown, unknown, answer()], 2), "dead")
    assert.strictEqual(boundOfOwn("hash", [unknown, answer()], 2), "unavailable")
    assert.strictEqual(boundOfOwn("hash", [answer(), answer({ life: 601 })], 2), "unavailable")
  })
})
