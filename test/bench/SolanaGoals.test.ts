import { assert, describe, it } from "@effect/vitest"
import * as Heads from "../../bench/transactions/Heads.ts"
import type { Row } from "../../bench/transactions/Results.ts"
import { judged } from "../../bench/transactions/solana/Goals.ts"
import { resultsOf } from "./resultsOf.ts"

const verdicts = (rows: ReadonlyArray<Row>) =>
  Object.fromEntries(judged(resultsOf(rows)).map(({ about, measured, met }) => [about, `${measured} ${met}`]))

const raw = (onChainPerSecond: number): Row => ({ case: "raw sender", stored: 0, onChainPerSecond, toBroadcast: 2 })
const of = (name: string, figures: Omit<Row, "case" | "stored">): Row => ({ case: name, stored: 0, ...figures })

describe("goals of transactions of solana", () => {
  it("a rate is compared to a share of the raw sender's, or of a window per poll if that is lower", () => {
    const rates = [of("one relayer", { onChainPerSecond: 300 }), of("twenty relayers", { onChainPerSecond: 300 })]
    const [one, twenty] = [
      "one relayer, to 0.3 × raw sender or 0.8 × window ÷ poll",
      "twenty relayers, to 0.3 × raw sender or 0.8 × windows ÷ poll"
    ]
    const slow = verdicts([raw(500), ...rates])
    assert.deepStrictEqual([slow[one], slow[twenty]], ["2.00 × true", "2.00 × true"])
    // 0.8 × 1,000 and 0.8 × 20 × 64 in each poll of two seconds.
    const fast = verdicts([raw(100_000), ...rates])
    assert.deepStrictEqual([fast[one], fast[twenty]], ["0.75 × false", "0.59 × false"])
  })

  it("the first send of an idle relayer may wait for two answers of a node besides its limit", () => {
    const about = "request to first send when idle, less two answers of a node, median"
    assert.strictEqual(verdicts([raw(500), of("single", { toBroadcast: 54 })])[about], "50 ms true")
    assert.strictEqual(verdicts([raw(500), of("single", { toBroadcast: 56 })])[about], "52 ms false")
  })

  it("what lands in one life is compared to what the raw sender lands", () => {
    const found = verdicts([
      of("a tenth of the sends swallowed", { landed: 0.97 }),
      of("raw sender with a tenth swallowed", { landed: 0.99 })
    ])
    assert.strictEqual(found["landed within one life while a tenth is swallowed, to raw sender"], "0.98 × false")
  })

  it("a case that was not measured has no goal", () => {
    assert.deepStrictEqual(verdicts([raw(500)]), { "RPC calls about idle relayers": "0 calls true" })
  })
})

describe("arrivals of blocks", () => {
  const arrivals = new Map([
    [7, 100],
    [9, 200]
  ])

  it("confirm a block by its number, if no number is without a block", () => {
    const heads = Heads.make(arrivals)
    assert.strictEqual(heads.confirmationOf(7, 2), 200)
    assert.isUndefined(heads.confirmationOf(9, 2))
  })

  it("confirm a block as the network says, if numbers are without a block", () => {
    const heads = Heads.make(arrivals, (slot, required) => slot + required)
    assert.strictEqual(heads.confirmationOf(7, 1), 8)
    assert.strictEqual(heads.arrivalOf(9), 200)
  })
})
