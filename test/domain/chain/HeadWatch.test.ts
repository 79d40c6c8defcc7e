// When a provider counts as stalled.
import { assert, describe, it } from "@effect/vitest"
import { isFarBehind, isStalled, mayBeBehind, observedHead, stalledAfter } from "../../../src/domain/chain/Rpc.ts"
import type { HeadWatch } from "../../../src/domain/chain/Rpc.ts"

const blockTime = 1000
const head = (number: number) => ({ hash: `block-${number}`, number })

/** Asks every five seconds. */
const asked = (heads: ReadonlyArray<ReturnType<typeof head> | undefined>, every = 5000): HeadWatch => {
  let watch = observedHead(undefined, heads[0], 0, blockTime)
  for (const [index, one] of heads.slice(1).entries()) watch = observedHead(watch, one, (index + 1) * every, blockTime)
  return watch
}

const same = (times: number) => Array.from({ length: times }, () => head(7))

describe("a provider", () => {
  it("is stalled if its head does not change for 30 seconds", () => {
    assert.isFalse(isStalled(asked(same(6)), blockTime))
    assert.isTrue(isStalled(asked(same(7)), blockTime))
  })

  it("is stalled if it gives no answer for 30 seconds", () => {
    const away = Array.from({ length: 7 }, () => undefined)
    assert.isTrue(isStalled(asked(away), blockTime))
    assert.isTrue(isStalled(asked([head(7), ...away]), blockTime))
  })

  it("is not stalled once it has another head", () => {
    assert.isFalse(isStalled(asked([...same(20), head(8)]), blockTime))
  })

  it("is not stalled because nobody has asked it", () => {
    assert.isFalse(isStalled(asked(same(2), 3_600_000), blockTime))
  })

  it("that was stalled is still if it shows the same head after nobody has asked it for long", () => {
    const stalled = asked(same(7))
    assert.isTrue(isStalled(observedHead(stalled, head(7), 3_600_000, blockTime), blockTime))
    assert.isFalse(isStalled(observedHead(stalled, head(8), 3_600_000, blockTime), blockTime))
    assert.isFalse(isStalled(observedHead(stalled, undefined, 3_600_000, blockTime), blockTime))
  })

  it("has ten blocks if these take longer", () => {
    assert.strictEqual(stalledAfter(12_000), 120_000)
  })
})

describe("a provider whose newest block is below that of another one", () => {
  const own = { number: 100, timestamp: 1_000_000 }

  it("is far behind from more than 3 blocks and 30 seconds on", () => {
    assert.isTrue(isFarBehind(own, { number: 104, timestamp: 1_030_000 }))
    assert.isFalse(isFarBehind(own, { number: 103, timestamp: 1_060_000 }))
    assert.isFalse(isFarBehind(own, { number: 200, timestamp: 1_029_999 }))
    assert.isFalse(isFarBehind({ number: 104, timestamp: 1_030_000 }, own))
  })

  it("is not far behind as long as a provider does not say when its block was made", () => {
    assert.isFalse(isFarBehind({ number: 100 }, { number: 200, timestamp: 1_060_000 }))
    assert.isFalse(isFarBehind(own, { number: 200 }))
  })

  it("can be far behind only if its block is 30 seconds old", () => {
    assert.deepStrictEqual(
      [mayBeBehind(own, 1_029_999), mayBeBehind(own, 1_030_000), mayBeBehind({ number: 100 }, 2_000_000)],
      [false, true, false]
    )
  })
})
