// Traces of the model check about blocks: what is mined is found, however late, and what a reorganisation drops is sent again.
import { assert, describe, it } from "@effect/vitest"
import { settle } from "../../../../src/domain/transaction/evm/Gaps.ts"
import { floor } from "../../../../src/domain/transaction/evm/BelievedCount.ts"
import { summary } from "./DecisionTable.ts"
import { agreed, commandsOf, lane, mined, only, seen, submitted } from "./Fixtures.ts"

describe("A1", () => {
  it("the settled nonce never passes a transaction that is not final", () => {
    const { lane: five } = lane()
    assert.strictEqual(settle({ ...five, settledNonce: 2, chainNonce: 5 }, 5, 3).settledNonce, 3)
    assert.strictEqual(settle({ ...five, settledNonce: 2, chainNonce: 5 }, 9, undefined).settledNonce, 5)
    assert.strictEqual(settle({ ...five, settledNonce: 2, chainNonce: 5 }, undefined, undefined).settledNonce, 2)
  })
})

describe("A7", () => {
  it("a provider with a longer fork does not make a common block deep", () => {
    const common = { first: "block-100", second: { hash: "block-100", finalHeight: 99 } }
    const deep = seen({ finalHeight: 150, head: { number: 152, hash: "head" } })
    assert.strictEqual(
      summary(commandsOf(mined(), lane(), { ...deep, minedAt: common })),
      "Hold transaction mined_waiting"
    )
    assert.strictEqual(
      summary(commandsOf(mined(), lane(), { ...deep, minedAt: agreed() })),
      "Finish confirmed confirmed"
    )
  })
})

describe("B13", () => {
  it("the settled nonce falls with the count, and only then", () => {
    const settled = { ...lane().lane, chainBlock: { number: 100, hash: "block-100" } }
    const deep = floor(
      settled,
      { head: { number: 200, hash: "x" }, count: 2, hashAtChainBlock: "other" },
      undefined,
      64
    )
    assert.deepStrictEqual([deep.lane.settledNonce, deep.lane.chainNonce, deep.lane.nextNonce], [2, 2, 5])
  })

  it("what waits behind it says so", () => {
    const behind = commandsOf(submitted(), lane({ isDeepReorg: true }), seen({ count: 4 }))
    assert.strictEqual(only(behind, "Hold").cause.code, "deep_reorg")
  })
})
