// The traces of the model check that execute twice or report a wrong end (A1 to A7): each passes only with its correction.
import { assert, describe, it } from "@effect/vitest"
import { Result } from "effect"
import { cause } from "../../../src/domain/transaction/Cause.ts"
import { settle } from "../../../src/domain/transaction/Gaps.ts"
import { onNewGeneration, resolve, suspects } from "../../../src/domain/transaction/Restore.ts"
import type { SilentBatch, TakerEvidence } from "../../../src/domain/transaction/Taker.ts"
import { summary } from "./DecisionTable.ts"
import {
  agreed,
  attempt,
  commandsOf,
  lane,
  mined,
  pending,
  request,
  seen,
  submitted,
  tagsOf,
  terms
} from "./Fixtures.ts"
import { effectsOf, mine, mineFromPool } from "./simulation/Blocks.ts"
import { poll } from "./simulation/Driver.ts"
import { faultless } from "./simulation/Faults.ts"
import { pollLane } from "./simulation/LanePoll.ts"
import { begin, take } from "./simulation/Steps.ts"
import { giveUpUnproven } from "./simulation/Users.ts"
import { watch } from "./simulation/Invariants.ts"
import { blocks, reading, rounds, sent } from "./simulation/Scenes.ts"
import { accept, address, receiver, transactionOf } from "./simulation/World.ts"

describe("A1", () => {
  it("a transaction that was mined while nobody polled the chain is found, however deep it is", () => {
    const world = sent()
    mineFromPool(world)
    blocks(world, 3)
    pollLane(world, faultless)
    assert.strictEqual(world.ledger.lane.settledNonce, 0)
    poll(world, faultless, 1, watch)
    assert.strictEqual(transactionOf(world, 1).state, "confirmed")
    pollLane(world, faultless)
    assert.strictEqual(world.ledger.lane.settledNonce, 1)
    assert.strictEqual(effectsOf(world, 1), 1)
  })

  it("the settled nonce never passes a transaction that is not final", () => {
    const { lane: five } = lane()
    assert.strictEqual(settle({ ...five, settledNonce: 2, chainNonce: 5 }, 5, 3).settledNonce, 3)
    assert.strictEqual(settle({ ...five, settledNonce: 2, chainNonce: 5 }, 9, undefined).settledNonce, 5)
    assert.strictEqual(settle({ ...five, settledNonce: 2, chainNonce: 5 }, undefined, undefined).settledNonce, 2)
  })
})

/** A block at which the account's count passed the nonce of `submitted()`, and that is deep. */
const passed = seen({ count: 6, countAtFinal: 6, head: { number: 200, hash: "head" }, finalHeight: 198 })

const fetched = (over: Partial<Extract<TakerEvidence, { _tag: "Fetched" }>> = {}): TakerEvidence => ({
  _tag: "Fetched",
  hash: "foreign",
  sender: address,
  nonce: 5,
  effect: { to: receiver, value: 999n, data: "0x" },
  block: 150,
  blockHash: "block-150",
  second: { hash: "block-150", finalHeight: 198 },
  ...over
})

const onTaker = (taker: TakerEvidence, transaction = submitted()) =>
  summary(commandsOf(transaction, lane(), { ...passed, taker }))

describe("A2", () => {
  it("missing receipts of a provider that is behind prove nothing", () => {
    const world = sent()
    mineFromPool(world)
    blocks(world, 3)
    const hidden = reading({ isLiarFirst: true, hidesReceipts: true })
    for (let again = 0; again < 3; again++) poll(world, hidden, 1, watch)
    assert.notStrictEqual(transactionOf(world, 1).state, "pending")
    rounds(world, 4)
    assert.strictEqual(transactionOf(world, 1).state, "confirmed")
    assert.strictEqual(effectsOf(world, 1), 1)
  })

  it("only a fetched transaction that is deep, confirmed by both providers and not an attempt is a proof", () => {
    assert.strictEqual(onTaker(fetched()), "Requeue nonce_taken")
    assert.strictEqual(onTaker(fetched({ second: "not_configured" })), "Requeue nonce_taken")
    assert.strictEqual(onTaker(fetched({ hash: "hash-1" })), "PollAt none")
    assert.strictEqual(onTaker(fetched({ block: 199 })), "PollAt none")
    assert.strictEqual(onTaker(fetched({ sender: receiver })), "Hold transaction nonce_taken_unproven")
    assert.strictEqual(onTaker(fetched({ nonce: 4 })), "Hold transaction nonce_taken_unproven")
    const other = { hash: "other", finalHeight: 198 }
    assert.strictEqual(onTaker(fetched({ second: other })), "Hold transaction nonce_taken_unproven")
    const shallow = { hash: "block-150", finalHeight: 149 }
    assert.strictEqual(onTaker(fetched({ second: shallow })), "Hold transaction nonce_taken_unproven")
    assert.strictEqual(onTaker({ _tag: "NotFound" }), "Hold transaction nonce_taken_unproven")
  })

  it("silence is a proof only from two providers, each with its own count and without any of the attempts", () => {
    const two = submitted({ attempts: [attempt(1), attempt(2)] })
    const silent: SilentBatch = { count: 6, absent: new Set(["hash-1", "hash-2"]) }
    const on = (first: SilentBatch, second?: SilentBatch) =>
      onTaker({ _tag: "Silent", first, ...(second === undefined ? {} : { second }) }, two)
    // What used the nonce was not seen, so it could be an attempt that the ledger has forgotten.
    assert.strictEqual(on(silent, silent), "Requeue restored_unproven")
    assert.strictEqual(on(silent), "Hold transaction nonce_taken_unproven")
    assert.strictEqual(on(silent, { ...silent, count: 5 }), "Hold transaction nonce_taken_unproven")
    assert.strictEqual(on(silent, { ...silent, absent: new Set(["hash-2"]) }), "Hold transaction nonce_taken_unproven")
  })

  it("a request gets a new nonce three times at most, and one with a required nonce never", () => {
    assert.strictEqual(onTaker(fetched(), submitted({ requeues: 2 })), "Requeue nonce_taken")
    assert.strictEqual(onTaker(fetched(), submitted({ requeues: 3 })), "Finish failed nonce_taken_too_often")
    assert.strictEqual(onTaker(fetched(), submitted({ requiredNonce: 5 })), "Finish failed nonce_unavailable")
    assert.strictEqual(onTaker(fetched(), submitted({ intent: "cancel" })), "Finish canceled canceled")
    assert.strictEqual(onTaker(fetched(), submitted({ intent: "expire" })), "Finish expired deadline_passed")
  })
})

describe("A3", () => {
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
    take(world, { do: "Replace", which: 0 }, watch)
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
    assert.strictEqual(transactionOf(world, number).nonce, 1)
  })

  it("neither a cancel nor a deadline ends a restored request; an operator does", () => {
    const restored = pending({ restored: true, intent: "cancel", validUntil: 0 })
    assert.strictEqual(summary(commandsOf(restored)), "Hold transaction restored_unproven")
    assert.deepStrictEqual(
      summary([Result.getOrThrow(resolve(restored, "give_up"))]),
      "Finish failed restored_unproven"
    )
    assert.deepStrictEqual(summary([Result.getOrThrow(resolve(restored, "send"))]), "Requeue queued")
    assert.isTrue(Result.isFailure(resolve(pending(), "send")))
    const unproven = submitted({ cause: cause("nonce_taken_unproven") })
    assert.strictEqual(summary([Result.getOrThrow(resolve(unproven, "give_up"))]), "Finish failed nonce_taken_unproven")
  })

  it("without a mark, what a transaction of the account that no attempt has could be is held before a requeue", () => {
    const one = submitted({ versions: [request({ value: 1n }), request({ value: 2n })] })
    const same = { to: receiver, value: 1n, data: "0x" }
    assert.strictEqual(onTaker(fetched({ effect: same }), one), "Requeue restored_unproven")
    const rows = [one, pending({ number: 2, versions: [request({ value: 3n })] }), mined({ state: "confirmed" })]
    assert.deepStrictEqual(suspects(rows, same), [one])
    assert.deepStrictEqual(suspects(rows, undefined), rows.slice(0, 2))
  })

  it("a restored request with a nonce is finished at that nonce", () => {
    const world = sent()
    take(world, { do: "Backup" }, watch)
    take(world, { do: "Restore" }, watch)
    rounds(world, 5)
    assert.strictEqual(transactionOf(world, 1).state, "confirmed")
    giveUpUnproven(world)
    assert.strictEqual(transactionOf(world, 1).state, "confirmed")
  })
})

describe("A4", () => {
  it("a new generation ends whatever was ever signed, and keeps the rest", () => {
    const next = lane({ lane: { ...lane().lane, generation: 1 } })
    assert.strictEqual(summary(commandsOf(submitted(), next)), "Finish failed chain_changed")
    const requeued = pending({ attempts: [attempt(1)], requeues: 1 })
    assert.strictEqual(summary(commandsOf(requeued, next)), "Finish failed chain_changed")
    assert.strictEqual(summary(commandsOf(pending(), next)), "Sign original sending")
    assert.isDefined(onNewGeneration(requeued))
    assert.isUndefined(onNewGeneration(pending()))
    assert.isUndefined(onNewGeneration(mined({ state: "confirmed" })))
  })

  it("bytes of an older generation are never sent", () => {
    const next = lane({ lane: { ...lane().lane, generation: 1 } })
    const ended = mined({ state: "confirmed" })
    assert.deepStrictEqual(tagsOf(commandsOf(ended, next, seen({ count: 0 }))), ["Rest"])
    const moved = submitted({ generation: 1, attempts: [attempt(1), attempt(2, { generation: 1, sends: 0 })] })
    const commands = commandsOf(moved, next, seen({ sights: new Map([[2, { _tag: "Absent", polls: 2 }]]) }))
    assert.deepStrictEqual(commands[0], { _tag: "Broadcast", ordinals: [2] })
  })
})

describe("A5", () => {
  it("a reverted receipt whose block is gone is forgotten, and the transaction is confirmed when it succeeds", () => {
    const world = sent()
    mine(world, 0, true)
    poll(world, faultless, 1, watch)
    assert.strictEqual(transactionOf(world, 1).cause?.code, "reverted_unconfirmed")
    take(world, { do: "Reorg", depth: 1 }, watch)
    mine(world, 0, false)
    blocks(world, 3)
    rounds(world, 4)
    assert.strictEqual(transactionOf(world, 1).state, "confirmed")
    assert.strictEqual(effectsOf(world, 1), 1)
  })
})

describe("A6", () => {
  it("a policy that forbids a transaction with bytes clears its nonce, and what is mined decides", () => {
    const world = sent()
    take(world, { do: "Policy", isAllowed: false }, watch)
    take(world, { do: "Replace", which: 0 }, watch)
    poll(world, faultless, 1, watch)
    assert.strictEqual(transactionOf(world, 1).intent, "clear")
    mine(world, 0)
    rounds(world, 4)
    assert.strictEqual(transactionOf(world, 1).state, "confirmed")
    const cleared = sent()
    take(cleared, { do: "Policy", isAllowed: false }, watch)
    take(cleared, { do: "Replace", which: 0 }, watch)
    rounds(cleared, 5)
    assert.deepStrictEqual(transactionOf(cleared, 1).cause?.code, "policy_changed")
    assert.strictEqual(effectsOf(cleared, 1), 0)
  })

  it("no transaction with a nonce is ended by policy, pause, funds or another chain", () => {
    for (const situation of [
      lane({ terms: terms({ isAllowed: false }) }),
      lane({ terms: terms({ isPaused: true }) }),
      lane({ stop: cause("chain_changed") })
    ]) {
      assert.notInclude(tagsOf(commandsOf(submitted(), situation, seen({ balance: 0n }))), "Finish")
    }
  })
})

describe("A7", () => {
  it("a provider on a dead fork finishes nothing, however deep it has the transaction", () => {
    const world = sent()
    take(world, { do: "Fork", depth: 0, which: 0, blocks: 4 }, watch)
    const lie = reading({ isLiarFirst: true })
    for (let again = 0; again < 3; again++) poll(world, lie, 1, watch)
    assert.strictEqual(transactionOf(world, 1).state, "mined")
    take(world, { do: "Unfork" }, watch)
    rounds(world, 5)
    assert.strictEqual(transactionOf(world, 1).state, "confirmed")
    assert.strictEqual(effectsOf(world, 1), 1)
  })

  it("a provider with a longer fork does not make a common block deep", () => {
    const common = { first: "block-100", second: { hash: "block-100", finalHeight: 99 } }
    const deep = seen({ finalHeight: 150, head: { number: 152, hash: "head" } })
    assert.strictEqual(
      summary(commandsOf(mined(), lane(), { ...deep, minedAt: common })),
      "Hold transaction mined_waiting"
    )
    assert.strictEqual(
      summary(commandsOf(mined(), lane(), { ...deep, minedAt: agreed() })),
      "Finish confirmed confirmed"
    )
  })
})
