// When polls show blocks: simulated chains, whose blocks come at moments that a process does not know.
import { assert, describe, it } from "@effect/vitest"
import { Schema } from "effect"
import { makeBlockArrivals } from "../../../src/server/lanes/StepState.ts"
import { property } from "../../../testkit/Depth.ts"

const set = "providers"

interface Chain {
  readonly blockTime: number
  /** The moment of the first block, and the time from one block to the next one. */
  readonly first: number
  readonly between: (block: number) => number
}

interface Polled {
  readonly polls: number
  /** Milliseconds from each block to the poll that showed it. */
  readonly delays: ReadonlyArray<number>
}

/** Polls a chain as a lane does: once per block time if nothing is known. */
const poll = ({ blockTime, first, between }: Chain, blocks: number): Polled => {
  const arrivals = makeBlockArrivals()
  const moments = [first]
  while (moments.length < blocks) moments.push((moments.at(-1) ?? 0) + between(moments.length))
  const delays: Array<number> = []
  let polls = 0
  for (let now = 0; delays.length < moments.length; polls++) {
    const height = moments.filter((moment) => moment <= now).length
    for (const moment of moments.slice(delays.length, height)) delays.push(now - moment)
    arrivals.seen(set, height, now, blockTime)
    now = arrivals.next(set, now, blockTime) ?? now + blockTime
  }
  return { polls, delays }
}

const blockTimes = Schema.Int.check(Schema.isBetween({ minimum: 1000, maximum: 12_000 }))
const share = Schema.Number.check(Schema.isBetween({ minimum: 0, maximum: 1 }))

/** Blocks until the arrival is known. */
const learned = 8

describe("a lane that polls a chain with regular blocks", () => {
  it.prop(
    "sees each block within an eighth of the block time, and polls at most a third more often than there are blocks",
    [blockTimes, share, share],
    ([blockTime, phase, drift]) => {
      // Half a percent faster or slower than the network says.
      const between = () => blockTime * (0.995 + drift / 100)
      const { delays, polls } = poll({ blockTime, first: blockTime * (1 + phase), between }, 100)
      for (const delay of delays.slice(learned)) assert.isAtMost(delay, blockTime / 8 + 2)
      assert.isAtMost(polls, 133 + learned)
    },
    property()
  )
})

describe("a lane that polls a chain whose blocks do not come when they are expected", () => {
  it("polls it three times more after the block that is late, and then once per block time", () => {
    const blockTime = 12_000
    const between = (block: number) => (block === 50 ? 100 * blockTime : blockTime)
    const regular = poll({ blockTime, first: 13_000, between: () => blockTime }, 60)
    const late = poll({ blockTime, first: 13_000, between }, 60)
    assert.isAtMost(late.polls - regular.polls, 99 + 3 + learned)
    assert.isAtMost(late.delays[50] ?? Number.NaN, blockTime)
  })

  it.prop(
    "polls it at most three times per block time",
    [blockTimes, Schema.Array(share).check(Schema.isBetweenLength(40, 40))],
    ([blockTime, shares]) => {
      const between = (block: number) => 2 * blockTime * (shares[block] ?? 1) + 1
      const chain = { blockTime, first: blockTime, between }
      const all = shares.reduce((sum, _, block) => sum + between(block), blockTime)
      assert.isAtMost(poll(chain, 40).polls, 3 * (all / blockTime) + learned)
    },
    property()
  )

  it("knows nothing of a chain that makes several blocks in its block time", () => {
    const { delays, polls } = poll({ blockTime: 4000, first: 4100, between: () => 1000 }, 60)
    assert.isAtMost(polls, 18)
    assert.isAtMost(Math.max(...delays), 4000)
  })

  it("knows nothing after a provider has shown an older block", () => {
    const arrivals = makeBlockArrivals()
    arrivals.seen(set, 7, 0, 1000)
    arrivals.seen(set, 8, 1000, 1000)
    assert.strictEqual(arrivals.next(set, 1000, 1000), 1500)
    arrivals.seen(set, 7, 1500, 1000)
    assert.isUndefined(arrivals.next(set, 1500, 1000))
  })
})
