// Which blocks a plot of base fees has, and how many points.
import { DateTime } from "effect"
import { assert, describe, it } from "@effect/vitest"
import {
  blocksPerCall,
  callsFor,
  heightsOf,
  maxFeeBlocks,
  maxFeePoints,
  pointsOf
} from "../../../../src/networks/evm/rules/Hindsight.ts"
import { attempt, mined, now, pending, submitted } from "./Fixtures.ts"

const blockTime = 12_000

/** The attempts of the fixtures were first sent at height 100, at `now`. */
const at = (height: number, later = 0) => ({ at: now + later, height, blockTime })

describe("the blocks of a transaction", () => {
  it("begin when it was accepted, by the time between acceptance and first send", () => {
    const waited = submitted({ createdAt: now - 10 * blockTime })
    assert.deepStrictEqual(heightsOf(waited, at(130)), { first: 90, last: 130 })
  })

  it("end with the block that confirms it, and never after the newest block", () => {
    assert.deepStrictEqual(heightsOf(mined(), at(500)), { first: 100, last: 102 })
    assert.deepStrictEqual(heightsOf(mined(), at(100)), { first: 100, last: 100 })
  })

  it("end when it ended without a block", () => {
    const expired = submitted({ state: "expired", causeSince: now + 5 * blockTime })
    assert.deepStrictEqual(heightsOf(expired, at(900)), { first: 100, last: 105 })
  })

  it("begin at its acceptance if it was never sent", () => {
    assert.deepStrictEqual(heightsOf(pending({ createdAt: now - 3 * blockTime }), at(50)), { first: 47, last: 50 })
    assert.deepStrictEqual(heightsOf(pending({ createdAt: now - 99 * blockTime }), at(50)), { first: 0, last: 50 })
  })

  it("are the newest ones if there are too many", () => {
    const { first, last } = heightsOf(submitted({ attempts: [attempt(1)] }), at(100 + 2 * maxFeeBlocks))
    assert.deepStrictEqual([last - first + 1, last], [maxFeeBlocks, 100 + 2 * maxFeeBlocks])
  })

  it("are asked for in parts that nodes answer", () => {
    assert.deepStrictEqual(callsFor({ first: 5, last: 5 }), [{ first: 5, last: 5 }])
    const parts = callsFor({ first: 0, last: 2 * blocksPerCall })
    assert.deepStrictEqual(
      parts.map(({ first, last }) => last - first + 1),
      [blocksPerCall, blocksPerCall, 1]
    )
    assert.deepStrictEqual(
      parts.map(({ first }) => first),
      [0, blocksPerCall, 2 * blocksPerCall]
    )
  })
})

describe("the points of a plot", () => {
  const fees = (count: number) =>
    Array.from({ length: count }, (_, number) => ({ number, baseFee: BigInt(1000 + ((number * 7919) % 997)) }))

  it("are all blocks if there is room, with their times", () => {
    const points = pointsOf(fees(3), { first: 0, last: 2 }, { first: 0, last: 2000 })
    assert.deepStrictEqual(
      points.map(({ number, at }) => [number, DateTime.toEpochMillis(at)]),
      [
        [0, 0],
        [1, 1000],
        [2, 2000]
      ]
    )
  })

  it("are at most as many as fit, and keep the lowest base fee of all", () => {
    for (const count of [maxFeePoints, maxFeePoints + 1, 1000, maxFeeBlocks]) {
      const all = fees(count)
      const points = pointsOf(all, { first: 0, last: count - 1 }, { first: 0, last: count })
      assert.isAtMost(points.length, maxFeePoints)
      const lowest = all.reduce((least, { baseFee }) => (baseFee < least ? baseFee : least), all[0]?.baseFee ?? 0n)
      assert.strictEqual(
        points.some(({ base_fee }) => base_fee === lowest),
        true
      )
      assert.deepStrictEqual(
        points.map(({ number }) => number),
        points.map(({ number }) => number).toSorted((one, other) => one - other)
      )
    }
  })

  it("are one for one block, and none on a network without base fees", () => {
    assert.lengthOf(pointsOf(fees(1), { first: 7, last: 7 }, { first: 5, last: 5 }), 1)
    assert.isEmpty(pointsOf([], { first: 7, last: 9 }, { first: 5, last: 6 }))
  })
})
