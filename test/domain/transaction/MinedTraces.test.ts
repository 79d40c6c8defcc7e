// Traces of the model check about blocks: what is mined is found, however late, and what a reorganisation drops is sent again.
import { assert, describe, it } from "@effect/vitest"
import { settle } from "../../../src/domain/transaction/Gaps.ts"
import { floor } from "../../../src/domain/transaction/Floor.ts"
import { summary } from "./DecisionTable.ts"
import { agreed, commandsOf, lane, mined, only, seen, submitted } from "./Fixtures.ts"
import { effectsOf, mine, mineFromPool } from "./simulation/Blocks.ts"
import { assign, poll } from "./simulation/Driver.ts"
import { faultless } from "./simulation/Faults.ts"
import { pollLane } from "./simulation/LanePoll.ts"
import { take } from "./simulation/Steps.ts"
import { watch } from "./simulation/Invariants.ts"
import { blocks, reading, rounds, sent } from "./simulation/Scenes.ts"
import { accept, transactionOf } from "./simulation/World.ts"

describe("A1", () => {
  it("a transaction that was mined while nobody polled the chain is found, however deep it is", () => {
    const world = sent()
    mineFromPool(world)
    blocks(world, 3)
    pollLane(world, faultless)
    assert.strictEqual(world.ledger.lane.settledNonce, 0)
    poll(world, faultless, 1, watch)
    assert.strictEqual(transactionOf(world, 1).state, "confirmed")
    pollLane(world, faultless)
    assert.strictEqual(world.ledger.lane.settledNonce, 1)
    assert.strictEqual(effectsOf(world, 1), 1)
  })

  it("the settled nonce never passes a transaction that is not final", () => {
    const { lane: five } = lane()
    assert.strictEqual(settle({ ...five, settledNonce: 2, chainNonce: 5 }, 5, 3).settledNonce, 3)
    assert.strictEqual(settle({ ...five, settledNonce: 2, chainNonce: 5 }, 9, undefined).settledNonce, 5)
    assert.strictEqual(settle({ ...five, settledNonce: 2, chainNonce: 5 }, undefined, undefined).settledNonce, 2)
  })
})

describe("A5", () => {
  it("a reverted receipt whose block is gone is forgotten, and the transaction is confirmed when it succeeds", () => {
    const world = sent()
    mine(world, 0, true)
    poll(world, faultless, 1, watch)
    assert.strictEqual(transactionOf(world, 1).cause?.code, "reverted_unconfirmed")
    take(world, { do: "Reorg", depth: 1 }, watch)
    mine(world, 0, false)
    blocks(world, 3)
    rounds(world, 4)
    assert.strictEqual(transactionOf(world, 1).state, "confirmed")
    assert.strictEqual(effectsOf(world, 1), 1)
  })
})

describe("A7", () => {
  it("a provider on a dead fork finishes nothing, however deep it has the transaction", () => {
    const world = sent()
    take(world, { do: "Fork", depth: 0, which: 0, blocks: 4 }, watch)
    const lie = reading({ isLiarFirst: true })
    for (let again = 0; again < 3; again++) poll(world, lie, 1, watch)
    assert.strictEqual(transactionOf(world, 1).state, "mined")
    take(world, { do: "Unfork" }, watch)
    rounds(world, 5)
    assert.strictEqual(transactionOf(world, 1).state, "confirmed")
    assert.strictEqual(effectsOf(world, 1), 1)
  })

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

describe("B4", () => {
  it("a reverted transaction ends, however often its receipt is seen", () => {
    const world = sent()
    mine(world, 0, true)
    rounds(world, 4)
    assert.deepStrictEqual(transactionOf(world, 1).state, "failed")
    assert.strictEqual(effectsOf(world, 1), 0)
  })
})

describe("B13", () => {
  it("after a deep reorganisation a final transaction is sent again, and those behind it go on", () => {
    const world = sent()
    rounds(world, 5)
    assert.strictEqual(transactionOf(world, 1).state, "confirmed")
    assert.strictEqual(world.ledger.lane.settledNonce, 1)
    const second = accept(world)
    assign(world, faultless, watch)
    const pool = world.pool
    world.chain = world.chain.slice(0, 1)
    blocks(world, 3)
    blocks(world, 3)
    world.pool = pool
    rounds(world, 8)
    assert.strictEqual(transactionOf(world, second).state, "confirmed")
    assert.strictEqual(effectsOf(world, 1), 1)
  })

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

describe("C1", () => {
  it("a node whose head is below the block says nothing about it", () => {
    const lagging = seen({ head: { number: 99, hash: "block-99" }, minedAt: { first: "other" } })
    assert.strictEqual(summary(commandsOf(mined(), lane(), lagging)), "Hold transaction mined_waiting")
    assert.strictEqual(summary(commandsOf(mined(), lane(), seen())), "Hold transaction mined_waiting")
    assert.strictEqual(summary(commandsOf(mined(), lane(), seen({ minedAt: { first: "other" } }))), "Unmine reorged")
  })
})
