// Rules about blocks: what is mined is found, however late, and what a reorganisation drops is sent again.
import { assert, describe, it } from "@effect/vitest"
import { believedFloor, settleNonces } from "../../../../src/networks/evm/rules/LaneNonces.ts"
import { summary } from "./DecisionTable.ts"
import { agreed, commandsOf, lane, mined, only, seen, submitted } from "./Fixtures.ts"

describe("the settled nonce", () => {
  it("never passes a transaction that is not final", () => {
    const { lane: five } = lane()
    assert.strictEqual(settleNonces({ ...five, settledNonce: 2, chainNonce: 5 }, 5, 3).settledNonce, 3)
    assert.strictEqual(settleNonces({ ...five, settledNonce: 2, chainNonce: 5 }, 9, undefined).settledNonce, 5)
    assert.strictEqual(settleNonces({ ...five, settledNonce: 2, chainNonce: 5 }, undefined, undefined).settledNonce, 2)
  })
})

describe("a mined transaction", () => {
  it("is not deep because a provider has a longer fork", () => {
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

describe("a deep reorganisation", () => {
  it("lets the settled nonce fall with the count", () => {
    const settled = { ...lane().lane, chainBlock: { number: 100, hash: "block-100" } }
    const deep = believedFloor(
      settled,
      { head: { number: 200, hash: "x" }, count: 2, hashAtChainBlock: "other" },
      undefined,
      64
    )
    assert.deepStrictEqual([deep.lane.settledNonce, deep.lane.chainNonce, deep.lane.nextNonce], [2, 2, 5])
  })

  it("is the code of what waits behind it", () => {
    const behind = commandsOf(submitted(), lane({ isDeepReorg: true }), seen({ count: 4 }))
    assert.strictEqual(only(behind, "Hold").cause.code, "deep_reorg")
  })
})
