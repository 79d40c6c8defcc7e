// Rules about the count of the chain: gaps below the next nonce, and counts that rise or fall.
import { assert, describe, it } from "@effect/vitest"
import { nonceOf } from "../../../../src/networks/evm/rules/Evm.ts"
import { believedFloor, findGaps } from "../../../../src/networks/evm/rules/LaneNonces.ts"
import { noop, summary } from "./DecisionTable.ts"
import { commandsOf, lane, seen, submitted, tagsOf } from "./Fixtures.ts"
import { foreign } from "./simulation/Blocks.ts"
import { faultless } from "./simulation/Faults.ts"
import { watch } from "./simulation/Invariants.ts"
import { pollLane } from "./simulation/LanePoll.ts"
import { rounds } from "./simulation/Scenes.ts"
import { begin, take } from "./simulation/Steps.ts"
import { transactionOf } from "./simulation/World.ts"

describe("a count that rises", () => {
  const at = (number: number, hash = `block-${number}`) => ({ number, hash })
  const five = { ...lane().lane, chainBlock: at(100) }

  it("a hole with nothing above it is closed by assigning its nonce again", () => {
    const world = begin()
    foreign(world)
    pollLane(world, faultless)
    take(world, { do: "Reorg", depth: 1 }, watch)
    rounds(world, 6)
    assert.strictEqual(nonceOf(transactionOf(world, 1)), 0)
    assert.strictEqual(transactionOf(world, 1).state, "confirmed")
  })

  it("a count above the next nonce is believed from two providers, or in two polls with different heads", () => {
    const alone = believedFloor(five, { head: at(101), count: 7 }, undefined, 64)
    assert.deepStrictEqual([alone.lane.nextNonce, alone.claim?.count], [5, 7])
    assert.strictEqual(
      believedFloor(five, { head: at(101), count: 7, secondCount: 6 }, undefined, 64).lane.nextNonce,
      6
    )
    assert.strictEqual(
      believedFloor(five, { head: at(101), count: 7, secondCount: 5 }, undefined, 64).lane.nextNonce,
      5
    )
    assert.strictEqual(believedFloor(five, { head: at(101), count: 7 }, alone.claim, 64).lane.nextNonce, 5)
    assert.strictEqual(believedFloor(five, { head: at(102), count: 8 }, alone.claim, 64).lane.nextNonce, 7)
  })

  it("a jump of more than the window waits for the operator, except in the first poll", () => {
    const jump = believedFloor(five, { head: at(101), count: 70, secondCount: 70 }, undefined, 64)
    assert.deepStrictEqual([jump.code, jump.lane.nextNonce], ["nonce_ahead", 5])
    const settled = believedFloor(five, { head: at(101), count: 70, secondCount: 70 }, undefined, Infinity)
    assert.deepStrictEqual([settled.code, settled.lane.nextNonce, settled.change], [undefined, 70, "ahead"])
    const { chainBlock: _, ...fresh } = five
    assert.strictEqual(believedFloor(fresh, { head: at(101), count: 5000 }, undefined, 64).lane.nextNonce, 5000)
    assert.strictEqual(believedFloor(five, { head: at(101), count: 2 ** 60 }, undefined, 64).code, "nonce_out_of_range")
  })

  it("never lowers the next nonce, which is above what is in flight", () => {
    const eight = { ...five, nextNonce: 8 }
    const risen = believedFloor(eight, { head: at(101), count: 6 }, undefined, 64)
    assert.deepStrictEqual([risen.change, risen.lane.chainNonce, risen.lane.nextNonce], ["progress", 6, 8])
  })

  it("a gap is closed by whatever used its nonce, once that is deep, and needs no proof", () => {
    const gap = submitted({ origin: "gap", intent: "clear", clearCode: "gap_filled", attempts: [noop(1)] })
    const on = (countAtFinal: number) => summary(commandsOf(gap, lane(), seen({ count: 6, countAtFinal })))
    assert.strictEqual(on(6), "Finish failed gap_filled")
    assert.strictEqual(on(5), "PollAt none")
  })

  it("only the nonces without a transaction are gaps, a window at most, and only if the count was believed", () => {
    const ten = { ...five, nextNonce: 10 }
    assert.deepStrictEqual(findGaps(ten, 5, [6, 8, 9], 64).gaps, [5, 7])
    assert.deepStrictEqual(findGaps(ten, 5, [6, 8, 9], 1).gaps, [5])
    assert.strictEqual(findGaps(ten, 5, [6, 8], 64).lane.nextNonce, 9)
    assert.deepStrictEqual(findGaps(ten, 5, [], 64), { lane: { ...ten, nextNonce: 5 }, gaps: [] })
    assert.deepStrictEqual(findGaps(ten, 4, [9], 64), { lane: ten, gaps: [] })
  })
})

describe("a count that falls", () => {
  it("what the ledger remembers of the count is no reason to wait", () => {
    const remembers = lane({ lane: { ...lane().lane, nextNonce: 6, chainNonce: 6 } })
    const absent = seen({ count: 5, sights: new Map([[1, { _tag: "Absent", polls: 2 }]]) })
    assert.include(tagsOf(commandsOf(submitted(), remembers, absent)), "Broadcast")
  })

  it("a lower count is a reorganisation if the block is gone, lag if the head is below it, else a correction", () => {
    const known = { ...lane().lane, settledNonce: 4, chainBlock: { number: 100, hash: "block-100" } }
    const low = (over: Partial<Parameters<typeof believedFloor>[1]>, claim?: Parameters<typeof believedFloor>[2]) =>
      believedFloor(known, { head: { number: 101, hash: "head" }, count: 3, ...over }, claim, 64)
    const gone = low({ hashAtChainBlock: "other" })
    assert.deepStrictEqual([gone.change, gone.lane.chainNonce, gone.lane.settledNonce], ["reorg", 3, 3])
    assert.strictEqual(low({ head: { number: 99, hash: "old" }, hashAtChainBlock: "other" }).change, "none")
    assert.strictEqual(low({}).change, "none")
    const same = low({ hashAtChainBlock: "block-100" })
    assert.deepStrictEqual([same.change, same.claim?.count], ["none", 3])
    const second = low({ hashAtChainBlock: "block-100", secondCount: 4 })
    assert.deepStrictEqual([second.change, second.lane.chainNonce], ["correction", 4])
    const again = low({ hashAtChainBlock: "block-100", count: 2 }, { count: 3, headHash: "before" })
    assert.deepStrictEqual([again.change, again.lane.chainNonce], ["correction", 3])
    assert.strictEqual(low({ hashAtChainBlock: "block-100" }, { count: 3, headHash: "head" }).change, "none")
  })
})
