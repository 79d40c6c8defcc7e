// Transactions that end without the nonce that they had: it is a hole of the lane if the chain opens it again.
import { nonceOf } from "../../../../src/domain/transaction/evm/Evm.ts"
import { assert, describe, it } from "@effect/vitest"
import { foreign } from "./simulation/Blocks.ts"
import { reorg } from "../../../../testkit/chain/Blocks.ts"
import { assign, poll } from "./simulation/Driver.ts"
import { faultless } from "./simulation/Faults.ts"
import { watch } from "./simulation/Invariants.ts"
import { pollLane } from "./simulation/LanePoll.ts"
import { acceptance, blocks, reading, rounds, sent } from "./simulation/Scenes.ts"
import { take } from "./simulation/Steps.ts"
import { accept, transactionOf } from "./simulation/World.ts"

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

  it("that an operator gave up because of a wrong count leaves no hole", () => {
    const world = sent()
    take(world, { do: "DropPool" }, watch)
    poll(world, reading({ isLiarFirst: true, countLie: 1 }), 1, watch)
    assert.strictEqual(transactionOf(world, 1).cause?.code, "nonce_taken_unproven")
    take(world, { ...acceptance, lasts: 1 }, watch)
    assign(world, faultless, watch)
    assert.strictEqual(nonceOf(transactionOf(world, 2)), 1)
    take(world, { do: "Resync", answer: "give_up" }, watch)
    const { state, cause, place } = transactionOf(world, 1)
    assert.deepStrictEqual([state, cause?.code, place], ["failed", "nonce_taken_unproven", undefined])
    rounds(world, 12)
    assert.strictEqual(transactionOf(world, 2).state, "confirmed")
  })
})
