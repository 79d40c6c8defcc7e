// The fee plot: offers and base fees block by block, also for attempts of older versions of the service.
import { assert, describe, it } from "@effect/vitest"
import { DateTime } from "effect"
import { feePlotOf } from "../../web/src/data/FeePlot.ts"

const moment = (seconds: number) => DateTime.makeUnsafe(seconds * 1_000)

/** A block of twelve seconds for each base fee. */
const blocksOf = (first: number, ...fees: ReadonlyArray<bigint>) =>
  fees.map((base_fee, index) => ({ number: first + index, at: moment(index * 12), base_fee }))

describe("the fee plot", () => {
  it("shows in each block the price of the newest attempt that was sent before it", () => {
    const attempts = [
      { max_fee_per_gas: 30n, first_sent_block: 101 },
      { max_fee_per_gas: 40n, first_sent_block: 103 }
    ]
    const plot = feePlotOf({ attempts }, { blocks: blocksOf(100, 35n, 36n, 37n, 38n, 39n) })
    assert.deepStrictEqual(plot?.blocks, [100, 101, 102, 103, 104])
    assert.deepStrictEqual(plot?.baseFees, [35n, 36n, 37n, 38n, 39n])
    assert.deepStrictEqual(plot?.offers, [undefined, 30n, 30n, 40n, 40n])
    assert.isUndefined(plot?.cap)
    assert.isUndefined(plot?.paid)
  })

  it("ends the offers at the block that has the transaction, and marks there what was paid", () => {
    const transaction = {
      attempts: [{ gas_price: 50n, first_sent_block: 7 }],
      block_number: 8,
      effective_gas_price: 45n
    }
    const plot = feePlotOf(transaction, { cap: 60n, blocks: blocksOf(7, 44n, 43n, 42n) })
    assert.deepStrictEqual(plot?.offers, [50n, 50n, undefined])
    assert.deepStrictEqual(plot?.paid, [undefined, 45n, undefined])
    assert.deepStrictEqual(plot?.cap, [60n, 60n, 60n])
  })

  it("marks the nearest block before it when blocks are left out", () => {
    const blocks = [10, 20, 30].map((number) => ({ number, at: moment(number), base_fee: 1n }))
    const plot = feePlotOf({ block_number: 27, effective_gas_price: 2n }, { blocks })
    assert.deepStrictEqual(plot?.paid, [undefined, 2n, undefined])
  })

  it("uses the moment of the first send when the height is not known, and leaves out attempts that were never sent", () => {
    const attempts = [
      { max_fee_per_gas: 5n, sent_at: moment(12) },
      { max_fee_per_gas: 6n },
      { max_fee_per_gas: 7n, sent_at: moment(30) }
    ]
    const plot = feePlotOf({ attempts }, { blocks: blocksOf(0, 1n, 1n, 1n, 1n) })
    assert.deepStrictEqual(plot?.offers, [undefined, 5n, 5n, 7n])
  })

  it("is absent for fewer than three blocks, and on a network without base fees", () => {
    assert.isUndefined(feePlotOf({}, { blocks: blocksOf(1, 1n, 2n) }))
    assert.isUndefined(feePlotOf({}, { blocks: [] }))
  })
})
