// Transactions that end without the nonce that they had: it is a hole of the lane if the chain opens it again.
import { assert, describe, it } from "@effect/vitest"
import { cause } from "../../../../src/networks/core/Cause.ts"
import { Command } from "../../../../src/networks/core/Rules.ts"
import { apply } from "../../../../src/networks/core/Transition.ts"
import { nonceOf } from "../../../../src/networks/evm/rules/Evm.ts"
import { reorg } from "../../../../src/testkit/chain/Blocks.ts"
import { summary } from "./DecisionTable.ts"
import { commandsOf, lane, mined, now, receiptIn, seen, submitted } from "./Fixtures.ts"
import { fetched, onTaker } from "./Takers.ts"
import { effectsOf, foreign } from "./simulation/Blocks.ts"
import { assign, poll } from "./simulation/Driver.ts"
import { faultless } from "./simulation/Faults.ts"
import { watch } from "./simulation/Invariants.ts"
import { pollLane } from "./simulation/LanePoll.ts"
import { blocks, reading, rounds, sent } from "./simulation/Scenes.ts"
import { take } from "./simulation/Steps.ts"
import { accept, receiver, transactionOf } from "./simulation/World.ts"

describe("a transaction without its nonce", () => {
  it("that was canceled after another one used its nonce leaves no hole after a deep reorganisation", () => {
    const world = sent()
    take(world, { do: "Cancel", which: 0 }, watch)
    take(world, { do: "DropPool" }, watch)
    foreign(world)
    blocks(world, 3)
    poll(world, faultless, 1, watch)
    const { state, place } = transactionOf(world, 1)
    assert.deepStrictEqual([state, place], ["canceled", undefined])
    pollLane(world, faultless)
    const other = accept(world)
    assign(world, faultless, watch)
    assert.strictEqual(nonceOf(transactionOf(world, other)), 1)
    world.chain = reorg(world.chain, 4)
    rounds(world, 12)
    assert.strictEqual(transactionOf(world, other).state, "confirmed")
  })

  it("that goes back to pending has no nonce and no receipt any more", () => {
    const requeue = Command.Requeue({ restored: false, requeues: 1, cause: cause("nonce_taken") })
    const { state, place, mined: receipt, attempts } = apply(mined(), requeue, now)
    assert.deepStrictEqual([state, place, receipt, attempts.length], ["pending", undefined, undefined, 1])
  })

  it("that an operator gives up while the nonce is open stays as it is, and is executed", () => {
    const world = sent()
    take(world, { do: "DropPool" }, watch)
    poll(world, reading({ isLiarFirst: true, countLie: 1 }), 1, watch)
    assert.strictEqual(transactionOf(world, 1).cause?.code, "nonce_taken_unproven")
    for (const answer of ["give_up", "send"] as const) take(world, { do: "Resync", answer }, watch)
    assert.deepInclude(transactionOf(world, 1), { state: "submitted", intent: "execute" })
    rounds(world, 12)
    assert.strictEqual(transactionOf(world, 1).state, "confirmed")
    assert.strictEqual(effectsOf(world, 1), 1)
  })
})

describe("a transaction that an operator has given up", () => {
  const givenUp = submitted({ intent: "clear", clearCode: "nonce_taken_unproven" })
  const passed = (over: object = {}) => seen({ count: 6, countAtFinal: 6, taker: { _tag: "NotFound" }, ...over })

  it("ends as failed only if no provider has a receipt of it", () => {
    assert.strictEqual(
      summary(commandsOf(givenUp, lane(), passed({ hasNoReceipt: false }))),
      "Hold transaction nonce_taken_unproven"
    )
    const [first] = commandsOf(givenUp, lane(), passed({ hasNoReceipt: true }))
    assert.deepInclude(first, { _tag: "Finish", state: "failed", losesPlace: true })
  })

  it("is confirmed if its own bytes are mined at its nonce", () => {
    const sights = new Map([[1, { _tag: "Receipt" as const, receipt: receiptIn(100) }]])
    assert.strictEqual(summary(commandsOf(givenUp, lane(), passed({ sights }))), "Mine mined mined_waiting")
  })

  it("ends although the transaction at its nonce could be it, because an operator has decided", () => {
    const own = submitted({ intent: "clear", clearCode: "nonce_taken_unproven", restored: true })
    assert.match(onTaker(fetched({ call: { to: receiver, value: 1n, data: "0x" } }), own), /^Finish failed/)
  })
})
