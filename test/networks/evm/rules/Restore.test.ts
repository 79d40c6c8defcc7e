// Rules about a database from a backup, and about a chain that begins anew.
import { Result } from "effect"
import { assert, describe, it } from "@effect/vitest"
import { cause } from "../../../../src/networks/core/Cause.ts"
import { onNewGeneration, resolve, suspects } from "../../../../src/networks/core/Transition.ts"
import { nonceOf } from "../../../../src/networks/evm/rules/Evm.ts"
import type { Evm } from "../../../../src/networks/evm/rules/Evm.ts"
import { evmRules } from "../../../../src/networks/evm/rules/EvmRules.ts"
import { summary } from "./DecisionTable.ts"
import { attempt, commandsOf, lane, mined, pending, request, submitted } from "./Fixtures.ts"
import { fetched, onTaker } from "./Takers.ts"
import { effectsOf } from "./simulation/Blocks.ts"
import { watch } from "./simulation/Invariants.ts"
import { resync } from "./simulation/Operators.ts"
import { replacement, rounds, sent } from "./simulation/Scenes.ts"
import { begin, take } from "./simulation/Steps.ts"
import { accept, receiver, transactionOf } from "./simulation/World.ts"

describe("a restored request", () => {
  it("a request that is pending in an older backup is not executed again", () => {
    const world = begin()
    take(world, { do: "Backup" }, watch)
    rounds(world, 5)
    assert.strictEqual(transactionOf(world, 1).state, "confirmed")
    take(world, { do: "Restore" }, watch)
    rounds(world, 5)
    assert.strictEqual(transactionOf(world, 1).cause?.code, "restored_unproven")
    assert.strictEqual(effectsOf(world, 1), 1)
  })

  it("a request whose mined bump the backup does not have is not sent again when its nonce is taken", () => {
    const world = sent()
    take(world, { do: "Backup" }, watch)
    take(world, replacement, watch)
    rounds(world, 5)
    assert.strictEqual(transactionOf(world, 1).state, "confirmed")
    take(world, { do: "Restore" }, watch)
    rounds(world, 5)
    const restored = transactionOf(world, 1)
    assert.deepStrictEqual([restored.state, restored.cause?.code], ["pending", "restored_unproven"])
    assert.strictEqual(effectsOf(world, 1), 1)
  })

  it("restored requests hold no others, and new ones go on at the floor", () => {
    const world = begin()
    take(world, { do: "Backup" }, watch)
    rounds(world, 5)
    take(world, { do: "Restore" }, watch)
    const number = accept(world)
    rounds(world, 5)
    assert.strictEqual(transactionOf(world, number).state, "confirmed")
    assert.strictEqual(nonceOf(transactionOf(world, number)), 1)
  })

  it("neither a cancel nor a deadline ends a restored request; an operator does", () => {
    const restored = pending({ restored: true, intent: "cancel", validUntil: 0 })
    assert.strictEqual(summary(commandsOf(restored)), "Hold transaction restored_unproven")
    assert.deepStrictEqual(
      summary([Result.getOrThrow(resolve(restored, "give_up", 0n))]),
      "Finish failed restored_unproven"
    )
    assert.deepStrictEqual(summary([Result.getOrThrow(resolve(restored, "send", 0n))]), "Requeue queued")
    assert.isTrue(Result.isFailure(resolve(pending(), "send", 0n)))
    const unproven = submitted({ cause: cause("nonce_taken_unproven") })
    assert.strictEqual(
      summary([Result.getOrThrow(resolve(unproven, "give_up", 6n))]),
      "Intend clear nonce_taken_unproven"
    )
    for (const answer of ["send", "give_up"] as const) assert.isTrue(Result.isFailure(resolve(unproven, answer, 5n)))
  })

  it("without a mark, what a transaction of the account that no attempt has could be is held before a requeue", () => {
    const one = submitted({ versions: [request({ value: 1n }), request({ value: 2n })] })
    const same = { to: receiver, value: 1n, data: "0x" }
    assert.strictEqual(onTaker(fetched({ call: same }), one), "Requeue restored_unproven")
    const rows = [one, pending({ number: 2, versions: [request({ value: 3n })] }), mined({ state: "confirmed" })]
    assert.deepStrictEqual(suspects<Evm>(evmRules, rows, same), [one])
    assert.deepStrictEqual(suspects<Evm>(evmRules, rows, undefined), rows.slice(0, 2))
  })

  it("a restored request with a nonce is finished at that nonce", () => {
    const world = sent()
    take(world, { do: "Backup" }, watch)
    take(world, { do: "Restore" }, watch)
    rounds(world, 5)
    assert.strictEqual(transactionOf(world, 1).state, "confirmed")
    resync(world, "give_up")
    assert.strictEqual(transactionOf(world, 1).state, "confirmed")
  })
})

describe("a new generation", () => {
  it("ends whatever was ever signed, and keeps the rest", () => {
    const next = lane({ lane: { ...lane().lane, generation: 1 } })
    assert.strictEqual(summary(commandsOf(submitted(), next)), "Finish failed chain_changed")
    const requeued = pending({ attempts: [attempt(1)], requeues: 1 })
    assert.strictEqual(summary(commandsOf(requeued, next)), "Finish failed chain_changed")
    assert.strictEqual(summary(commandsOf(pending(), next)), "Sign original sending")
    assert.isDefined(onNewGeneration(requeued))
    assert.isUndefined(onNewGeneration(pending()))
    assert.isUndefined(onNewGeneration(mined({ state: "confirmed" })))
  })
})
