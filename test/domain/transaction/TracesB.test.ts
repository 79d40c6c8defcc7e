// The traces of the model check that stop a lane, or wait without a code (B3 to B13), as far as they are pure.
import { assert, describe, it } from "@effect/vitest"
import { maxFeeOf } from "../../../src/domain/transaction/Fees.ts"
import { floor } from "../../../src/domain/transaction/Floor.ts"
import { findGaps } from "../../../src/domain/transaction/Gaps.ts"
import type { Seen } from "../../../src/domain/transaction/View.ts"
import { later, noop, summary, unsent } from "./DecisionTable.ts"
import {
  attempt,
  commandsOf,
  gwei,
  lane,
  now,
  only,
  others,
  pending,
  request,
  seen,
  submitted,
  tagsOf,
  terms
} from "./Fixtures.ts"
import { effectsOf, foreign, mine, mineFromPool } from "./simulation/Blocks.ts"
import { assign, poll } from "./simulation/Driver.ts"
import { faultless } from "./simulation/Faults.ts"
import { pollLane } from "./simulation/LanePoll.ts"
import { begin, take } from "./simulation/Steps.ts"
import { watch } from "./simulation/Invariants.ts"
import { blocks, rounds, sent } from "./simulation/Scenes.ts"
import { accept, receiver, transactionOf } from "./simulation/World.ts"

describe("B2", () => {
  it("attempts of another generation or nonce do not count as current ones", () => {
    const moved = submitted({ attempts: [attempt(1, { nonce: 3 }), attempt(2, { generation: 7 }), attempt(3)] })
    const absent = seen({ sights: new Map([[3, { _tag: "Absent", polls: 2 }]]) })
    assert.deepStrictEqual(only(commandsOf(moved, lane(), absent), "Broadcast").ordinals, [3])
  })
})

describe("B3", () => {
  it("after the deadline a no-op that a node swallowed is sent again and raised", () => {
    const world = sent()
    world.now += 9 * 3_600_000
    world.pool = new Map()
    poll(world, { ...faultless, honestNode: "swallowed", lyingNode: "swallowed" }, 1, watch)
    assert.strictEqual(transactionOf(world, 1).attempts.at(-1)?.kind, "noop")
    assert.strictEqual(world.pool.size, 0)
    rounds(world, 8)
    assert.strictEqual(transactionOf(world, 1).state, "expired")
    assert.strictEqual(effectsOf(world, 1), 0)
  })

  it("a cancel stays a cancel when the deadline passes", () => {
    const late = submitted({ intent: "cancel", validUntil: now, attempts: [attempt(1), noop(2)] })
    assert.notInclude(tagsOf(commandsOf(late)), "Intend")
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

describe("B5", () => {
  const at = (number: number, hash = `block-${number}`) => ({ number, hash })
  const five = { ...lane().lane, chainBlock: at(100) }

  it("a hole that a dropped foreign transaction leaves is filled with a no-op, and the lane goes on", () => {
    const world = begin()
    foreign(world)
    pollLane(world, faultless)
    assert.strictEqual(world.ledger.lane.nextNonce, 1)
    assign(world, faultless, watch)
    assert.strictEqual(transactionOf(world, 1).nonce, 1)
    take(world, { do: "Reorg", depth: 1 }, watch)
    rounds(world, 8)
    assert.strictEqual(transactionOf(world, 1).state, "confirmed")
    const gap = world.ledger.transactions.find(({ origin }) => origin === "gap")
    assert.deepStrictEqual([gap?.nonce, gap?.state, gap?.cause?.code], [0, "failed", "gap_filled"])
  })

  it("a hole with nothing above it is closed by assigning its nonce again", () => {
    const world = begin()
    foreign(world)
    pollLane(world, faultless)
    take(world, { do: "Reorg", depth: 1 }, watch)
    rounds(world, 6)
    assert.strictEqual(transactionOf(world, 1).nonce, 0)
    assert.strictEqual(transactionOf(world, 1).state, "confirmed")
  })

  it("a count above the next nonce is believed from two providers, or in two polls with different heads", () => {
    const alone = floor(five, { head: at(101), count: 7 }, undefined, 64)
    assert.deepStrictEqual([alone.lane.nextNonce, alone.claim?.count], [5, 7])
    assert.strictEqual(floor(five, { head: at(101), count: 7, secondCount: 6 }, undefined, 64).lane.nextNonce, 6)
    assert.strictEqual(floor(five, { head: at(101), count: 7, secondCount: 5 }, undefined, 64).lane.nextNonce, 5)
    assert.strictEqual(floor(five, { head: at(101), count: 7 }, alone.claim, 64).lane.nextNonce, 5)
    assert.strictEqual(floor(five, { head: at(102), count: 8 }, alone.claim, 64).lane.nextNonce, 7)
  })

  it("a jump of more than the window waits for the operator, except in the first poll", () => {
    const jump = floor(five, { head: at(101), count: 70, secondCount: 70 }, undefined, 64)
    assert.deepStrictEqual([jump.code, jump.lane.nextNonce], ["nonce_ahead", 5])
    const settled = floor(five, { head: at(101), count: 70, secondCount: 70 }, undefined, Infinity)
    assert.deepStrictEqual([settled.code, settled.lane.nextNonce, settled.change], [undefined, 70, "ahead"])
    const { chainBlock: _, ...fresh } = five
    assert.strictEqual(floor(fresh, { head: at(101), count: 5000 }, undefined, 64).lane.nextNonce, 5000)
    assert.strictEqual(floor(five, { head: at(101), count: 2 ** 60 }, undefined, 64).code, "nonce_out_of_range")
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

describe("B6", () => {
  it("a transaction that every node refuses for good is cleared by a no-op", () => {
    const world = begin()
    const refusing = {
      ...faultless,
      honestNode: "refused",
      lyingNode: "refused",
      lie: "intrinsic gas too low"
    } as const
    assign(world, refusing, watch)
    assert.strictEqual(transactionOf(world, 1).intent, "clear")
    rounds(world, 5)
    const { state, cause } = transactionOf(world, 1)
    assert.deepStrictEqual([state, cause?.code], ["failed", "refused_by_all"])
    assert.strictEqual(effectsOf(world, 1), 0)
  })
})

describe("B7", () => {
  it("a newer version is signed at the same nonce, and is what is executed", () => {
    const world = sent()
    take(world, { do: "Replace", which: 0 }, watch)
    rounds(world, 5)
    const { attempts, nonce, state } = transactionOf(world, 1)
    assert.deepStrictEqual(
      attempts.map(({ kind, requestVersion }) => [kind, requestVersion]),
      [
        ["original", 1],
        ["replace", 2]
      ]
    )
    assert.deepStrictEqual([nonce, state], [0, "confirmed"])
  })

  it("a version with given fees keeps them if they replace the former ones", () => {
    const fees = { max_fee_per_gas: 12_100_000_001n, max_priority_fee_per_gas: 1_100_000_001n }
    const replaced = (over: object) => submitted({ versions: [request(), request({ ...fees, ...over })] })
    const signed = only(commandsOf(replaced({})), "Sign").fees
    assert.deepStrictEqual(signed, { type: "eip1559", maxFee: 12_100_000_001n, tip: 1_100_000_001n })
    const low = only(commandsOf(replaced({ max_priority_fee_per_gas: 1_100_000_000n })), "Sign").fees
    assert.deepStrictEqual(low, { type: "eip1559", maxFee: 12_375_000_000n, tip: 1_125_000_000n })
  })
})

describe("B10", () => {
  it("a block that the ledger remembers and the chain has lost does not hide the rebroadcast", () => {
    const world = sent()
    mineFromPool(world)
    pollLane(world, faultless)
    assert.strictEqual(world.ledger.lane.chainNonce, 1)
    take(world, { do: "Crash" }, watch)
    take(world, { do: "Reorg", depth: 1 }, watch)
    rounds(world, 6)
    assert.strictEqual(transactionOf(world, 1).state, "confirmed")
    assert.strictEqual(effectsOf(world, 1), 1)
  })

  it("what the ledger remembers of the count is no reason to wait", () => {
    const remembers = lane({ lane: { ...lane().lane, nextNonce: 6, chainNonce: 6 } })
    const absent = seen({ count: 5, sights: new Map([[1, { _tag: "Absent", polls: 2 }]]) })
    assert.include(tagsOf(commandsOf(submitted(), remembers, absent)), "Broadcast")
  })

  it("a lower count is a reorganisation if the block is gone, lag if the head is below it, else a correction", () => {
    const known = { ...lane().lane, settledNonce: 4, chainBlock: { number: 100, hash: "block-100" } }
    const low = (over: Partial<Parameters<typeof floor>[1]>, claim?: Parameters<typeof floor>[2]) =>
      floor(known, { head: { number: 101, hash: "head" }, count: 3, ...over }, claim, 64)
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

describe("B11", () => {
  it("a call that reverts is held while a predecessor of its batch is in flight, and fails only as the first one", () => {
    const reverting = seen({ estimate: { _tag: "Reverts", second: "agrees" } })
    const call = pending({ versions: [{ to: receiver, value: 0n, data: "0x23b872dd" }] })
    const behind = lane({ others: others({ inFlight: 1 }) })
    assert.strictEqual(summary(commandsOf(call, behind, reverting)), "Hold relayer waits_for_predecessors")
    assert.strictEqual(summary(commandsOf(call, lane(), reverting)), "Finish failed would_revert")
  })
})

describe("B12", () => {
  const absent: Pick<Seen, "sights"> = { sights: new Map([[1, { _tag: "Absent", polls: 2 }]]) }
  const overdue = later(12, {
    ...absent,
    market: { baseFee: 20n * gwei, tips: { safeLow: 1n, average: 2n, fast: 3n, fastest: 4n } }
  })
  const capped = lane({ terms: terms({ cap: 11n * gwei }) })

  it("bytes that were evicted are sent again although the price may not rise", () => {
    const commands = commandsOf(submitted(), capped, overdue, now + 24_000)
    assert.deepStrictEqual(tagsOf(commands), ["Broadcast", "Hold", "PollAt"])
    assert.strictEqual(only(commands, "Hold").cause.code, "gas_price_above_cap")
    const cheaper = { ...overdue, market: { ...overdue.market, baseFee: gwei } } as Seen
    assert.strictEqual(only(commandsOf(submitted(), capped, cheaper, now + 24_000), "Hold").cause.code, "at_cap")
  })

  it("bytes that were evicted are sent again although no no-op can be paid or signed", () => {
    const canceled = submitted({ intent: "cancel" })
    const poor = commandsOf(canceled, lane(), seen({ ...absent, balance: 1n }))
    assert.deepStrictEqual(tagsOf(poor), ["Broadcast", "Hold", "PollAt"])
    assert.strictEqual(only(poor, "Hold").cause.code, "insufficient_funds")
    const unsigned = commandsOf(
      canceled,
      lane({ signerRetry: { code: "signer_unavailable", at: now + 9 } }),
      seen(absent)
    )
    assert.strictEqual(only(unsigned, "Hold").cause.code, "signer_unavailable")
    assert.include(tagsOf(unsigned), "Broadcast")
  })

  it("bytes of a canceled request that never left are not sent for the first time", () => {
    const canceled = submitted({ state: "signed", intent: "cancel", attempts: [unsent(attempt(1))] })
    assert.notInclude(
      tagsOf(commandsOf(canceled, lane({ signerRetry: { code: "signer_unavailable", at: now + 9 } }))),
      "Broadcast"
    )
  })

  it("older attempts that do the same are tried after the newest, and none that does something else", () => {
    const attempts = [attempt(1), attempt(2, { kind: "replace", requestVersion: 2 }), attempt(3, { requestVersion: 2 })]
    const replaced = submitted({ versions: [request(), request()], attempts })
    const view = seen({ sights: new Map([[3, { _tag: "Absent", polls: 2 }]]) })
    assert.deepStrictEqual(only(commandsOf(replaced, lane(), view), "Broadcast").ordinals, [3, 2])
    const canceled = submitted({ intent: "cancel", attempts: [attempt(1), noop(2), noop(3)] })
    assert.deepStrictEqual(only(commandsOf(canceled, lane(), view), "Broadcast").ordinals, [3, 2])
  })

  it("fees rise above the highest of all attempts, not only above the newest", () => {
    const attempts = [attempt(1), attempt(2, { fees: { type: "eip1559", maxFee: 5n * gwei, tip: 5n * gwei } })]
    const { fees } = only(commandsOf(submitted({ intent: "cancel", attempts })), "Sign")
    assert.deepStrictEqual(fees, { type: "eip1559", maxFee: 12_375_000_000n, tip: 5_625_000_000n })
  })

  it("a request of 21,000 gas at the cap can be cleared", () => {
    const atCap = submitted({ intent: "cancel" })
    const { fees } = only(commandsOf(atCap, capped), "Sign")
    assert.strictEqual(maxFeeOf(fees), 12_375_000_000n)
  })

  it("without a cap a no-op costs ten times the first attempt at most, and ten times the cap with one", () => {
    const wild = { market: { baseFee: 10_000n * gwei, tips: { safeLow: 1n, average: 2n, fast: 3n, fastest: 4n } } }
    const big = submitted({ intent: "cancel", attempts: [attempt(1, { gasLimit: 2_000_000n })] })
    assert.strictEqual(maxFeeOf(only(commandsOf(big, lane(), seen(wild)), "Sign").fees), 110n * gwei)
    assert.strictEqual(maxFeeOf(only(commandsOf(big, capped, seen(wild)), "Sign").fees), 110n * gwei)
    const small = submitted({ intent: "cancel", attempts: [attempt(1, { gasLimit: 42_000n })] })
    assert.strictEqual(maxFeeOf(only(commandsOf(small, capped, seen(wild)), "Sign").fees), 22n * gwei)
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
