// The less severe findings of the model check (C1 to C10), as far as they are pure.
import { assert, describe, it } from "@effect/vitest"
import { Result } from "effect"
import { cancel, canReplace, feeViolation } from "../../../src/domain/transaction/Cancellation.ts"
import { cause } from "../../../src/domain/transaction/Cause.ts"
import { plan } from "../../../src/domain/transaction/Queue.ts"
import { othersOf, totalsOf } from "../../../src/domain/transaction/Totals.ts"
import type { Transaction } from "../../../src/domain/transaction/Transaction.ts"
import { later, noop, summary } from "./DecisionTable.ts"
import {
  agreed,
  attempt,
  commandsOf,
  ether,
  lane,
  mined,
  now,
  only,
  pending,
  receiptIn,
  request,
  seen,
  submitted,
  terms
} from "./Fixtures.ts"

describe("C1", () => {
  it("a node whose head is below the block says nothing about it", () => {
    const lagging = seen({ head: { number: 99, hash: "block-99" }, minedAt: { first: "other" } })
    assert.strictEqual(summary(commandsOf(mined(), lane(), lagging)), "Hold transaction mined_waiting")
    assert.strictEqual(summary(commandsOf(mined(), lane(), seen())), "Hold transaction mined_waiting")
    assert.strictEqual(summary(commandsOf(mined(), lane(), seen({ minedAt: { first: "other" } }))), "Unmine reorged")
  })
})

const base = () => {
  const { terms: _, others: __, ...rest } = lane()
  return rest
}

const candidates = (transactions: ReadonlyArray<Transaction>, paused: number | undefined = undefined, view = seen()) =>
  transactions.map((transaction) => ({
    transaction,
    terms: terms({ isPaused: transaction.relayerNumber === paused }),
    view
  }))

const numbersOf = (transactions: ReadonlyArray<Transaction>, paused?: number, view = seen(), limit = 32) =>
  plan(candidates(transactions, paused, view), base(), totalsOf([], {}), now, limit).signings.map(
    ({ transaction, nonce }) => [transaction.number, nonce]
  )

const row = (number: number, over: Partial<Transaction> = {}) => pending({ number, ...over })

describe("C2", () => {
  it("a relayer that is paused is skipped by the others of its lane", () => {
    const rows = [row(1), row(2, { relayerNumber: 2 }), row(3), row(4, { relayerNumber: 2 })]
    assert.deepStrictEqual(numbersOf(rows, 1), [
      [2, 5],
      [4, 6]
    ])
  })

  it("a transaction that is too early is passed by others of its own relayer, and has its place from its moment on", () => {
    const early = row(1, { notBefore: now + 1000 })
    assert.deepStrictEqual(numbersOf([early, row(2)]), [[2, 5]])
    const due = row(1, { createdAt: now - 100, notBefore: now - 50 })
    const rows = [due, row(2, { createdAt: now - 80 }), row(3, { createdAt: now - 20 })]
    assert.deepStrictEqual(
      numbersOf(rows).map(([number]) => number),
      [2, 1, 3]
    )
  })

  it("a lack of funds holds the lane, and a relayer's own minimum only its relayer", () => {
    const rows = [row(1, { versions: [request({ value: ether })] }), row(2, { relayerNumber: 2 })]
    assert.deepStrictEqual(numbersOf(rows), [])
    const own = [
      { transaction: row(1), terms: terms({ minBalance: ether }), view: seen() },
      ...candidates([row(2, { relayerNumber: 2 })])
    ]
    const { signings } = plan(own, base(), totalsOf([], {}), now, 32)
    assert.deepStrictEqual(
      signings.map(({ transaction }) => transaction.number),
      [2]
    )
  })

  it("later, cheaper ones of a relayer that is short do not overtake", () => {
    const view = seen({ balance: ether / 2n })
    const rows = [row(1, { versions: [request({ value: ether })] }), row(2)]
    assert.deepStrictEqual(numbersOf(rows, undefined, view), [])
  })

  it("a relayer that is held holds its own later ones", () => {
    const held = terms({ minBalance: ether / 2n })
    const rows = [row(1, { versions: [request({ value: ether / 2n })] }), row(2), row(3, { relayerNumber: 2 })]
    const all = rows.map((transaction) => ({
      transaction,
      terms: transaction.relayerNumber === 1 ? held : terms(),
      view: seen()
    }))
    const { signings } = plan(all, base(), totalsOf([], {}), now, 32)
    assert.deepStrictEqual(
      signings.map(({ transaction }) => transaction.number),
      [3]
    )
  })

  it("the order is priority, then place, then acceptance", () => {
    const rows = [row(1, { priority: -1 }), row(3), row(2), row(4, { priority: 1 })]
    assert.deepStrictEqual(
      numbersOf(rows).map(([number]) => number),
      [4, 2, 3, 1]
    )
    assert.deepStrictEqual(numbersOf(rows, undefined, seen(), 2).length, 2)
  })

  it("required nonces that arrive in any order are met", () => {
    const rows = [row(1, { requiredNonce: 7 }), row(2, { requiredNonce: 6 }), row(3, { requiredNonce: 5 })]
    assert.deepStrictEqual(numbersOf(rows), [
      [3, 5],
      [2, 6],
      [1, 7]
    ])
  })

  it("a required nonce waits while another transaction is held, and is not met by one that requires more", () => {
    const paused = [row(1, { requiredNonce: 6 }), row(2, { relayerNumber: 2 })]
    const { decided } = plan(candidates(paused, 2), base(), totalsOf([], {}), now + 3_600_000, 32)
    const waits = decided.find(({ transaction }) => transaction.number === 1)
    assert.strictEqual(summary(waits?.commands ?? []), "Hold transaction waits_for_predecessors")
    const alone = [row(1, { requiredNonce: 6 }), row(2, { requiredNonce: 7 })]
    const later = plan(candidates(alone), base(), totalsOf([], {}), now + 3_600_000, 32)
    assert.deepStrictEqual(
      later.decided.map(({ commands }) => summary(commands)),
      ["Finish failed nonce_unavailable", "Finish failed nonce_unavailable"]
    )
  })

  it("restored requests are nobody's predecessor", () => {
    const rows = [row(1, { restored: true }), row(2), row(3, { requiredNonce: 6 })]
    assert.deepStrictEqual(numbersOf(rows), [
      [2, 5],
      [3, 6]
    ])
    const alone = [row(1, { restored: true }), row(2, { requiredNonce: 6 })]
    const { decided } = plan(candidates(alone), base(), totalsOf([], {}), now + 3_600_000, 32)
    assert.deepStrictEqual(decided.map(({ commands }) => summary(commands)).sort(), [
      "Finish failed nonce_unavailable",
      "Hold transaction restored_unproven"
    ])
  })
})

describe("C3", () => {
  it("the wait for funds begins with the code, and only runs while nothing of the lane is in flight", () => {
    const poor = seen({ balance: 1n })
    const waiting = pending({ cause: cause("insufficient_funds"), causeSince: now - 600_000 })
    const on = (quietSince: number | undefined) =>
      summary(commandsOf(waiting, lane({ others: { ...lane().others, quietSince } }), poor))
    assert.strictEqual(on(now - 600_000), "Finish failed insufficient_funds")
    assert.strictEqual(on(now - 599_999), "Hold lane insufficient_funds")
    assert.strictEqual(on(undefined), "Hold lane insufficient_funds")
    const since = { quietSince: now }
    assert.strictEqual(othersOf(waiting, totalsOf([waiting], since), false).quietSince, now)
    assert.isUndefined(othersOf(waiting, totalsOf([waiting, submitted()], since), false).quietSince)
  })
})

describe("C4", () => {
  it("a no-op counts as mined whatever its status", () => {
    const canceled = submitted({ intent: "cancel", attempts: [attempt(1), noop(2)] })
    const receipt = receiptIn(100, { isSuccess: false })
    const view = seen({ count: 6, sights: new Map([[2, { _tag: "Receipt", receipt }]]) })
    assert.strictEqual(summary(commandsOf(canceled, lane(), view)), "Mine mined mined_waiting")
    const done = mined({ intent: "cancel", attempts: [attempt(1), noop(2)] }, 2, { isSuccess: false })
    assert.strictEqual(summary(commandsOf(done, lane(), later(2, { minedAt: agreed() }))), "Finish canceled canceled")
  })
})

describe("C5", () => {
  it("only the cancel of a transaction without a nonce promises that there is no effect", () => {
    assert.strictEqual(Result.getOrThrow(cancel(pending()))._tag, "finish")
    assert.strictEqual(Result.getOrThrow(cancel(submitted({ state: "signed" })))._tag, "intend")
    assert.strictEqual(Result.getOrThrow(cancel(submitted()))._tag, "intend")
    assert.strictEqual(Result.getOrThrow(cancel(submitted({ intent: "expire" })))._tag, "unchanged")
    assert.strictEqual(Result.getOrThrow(cancel(pending({ restored: true })))._tag, "intend")
    for (const one of [mined(), mined({ state: "confirmed" }), pending({ state: "canceled" })]) {
      assert.isTrue(Result.isFailure(cancel(one)))
    }
  })

  it("a transaction can be replaced while it is open, wanted and without a receipt", () => {
    for (const one of [pending(), submitted(), submitted({ state: "signed" })]) {
      assert.isTrue(Result.isSuccess(canReplace(one)))
    }
    const reverted = mined({ state: "submitted" }, 1, { isSuccess: false })
    for (const one of [mined(), reverted, submitted({ intent: "cancel" }), pending({ state: "failed" })]) {
      assert.isTrue(Result.isFailure(canReplace(one)))
    }
  })

  it("given fees that do not replace what was sent are refused with the minimum", () => {
    const fees = (max_fee_per_gas: bigint, max_priority_fee_per_gas: bigint) =>
      feeViolation(submitted(), request({ max_fee_per_gas, max_priority_fee_per_gas }))
    assert.isUndefined(fees(12_100_000_001n, 1_100_000_001n))
    assert.include(fees(12_100_000_000n, 1_100_000_001n)?.message ?? "", "12100000001")
    assert.strictEqual(feeViolation(submitted(), request({ gas_price: 1n }))?.field, "gas_price")
    assert.isUndefined(feeViolation(pending(), request({ gas_price: 1n })))
    assert.isUndefined(feeViolation(submitted(), request()))
  })
})

describe("C6", () => {
  it("a pending transaction is checked again at its deadline", () => {
    const held = lane({ others: { ...lane().others, inFlight: 16 } })
    assert.strictEqual(only(commandsOf(pending({ validUntil: now + 10 }), held), "PollAt").at, now + 10)
  })
})

describe("C10", () => {
  it("the window counts what is in flight, not what is mined", () => {
    const rows = [submitted(), submitted({ nonce: 6 }), mined({ nonce: 4 }), mined({ state: "confirmed", nonce: 3 })]
    assert.strictEqual(totalsOf(rows, {}).inFlight, 2)
    assert.strictEqual(totalsOf(rows, {}).lowestOpen, 4)
  })
})
