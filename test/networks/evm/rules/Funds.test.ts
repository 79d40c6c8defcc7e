// What transactions reserve, and when the balance covers one more.
import { assert, describe, it } from "@effect/vitest"
import { feeOf } from "../../../../src/networks/core/Queue.ts"
import { evmReservationOf, noopReserve, shortageOf, withPayment } from "../../../../src/networks/evm/rules/Costs.ts"
import { maxFeeOf, tipOf } from "../../../../src/networks/evm/rules/Market.ts"
import { attempt, gwei, mined, othersOf, pending, receiptIn, request, seen, submitted, totalsOf } from "./Fixtures.ts"

describe("a reservation", () => {
  it("is what the most expensive attempt can cost", () => {
    const replaced = submitted({
      versions: [request({ value: 500n }), request({ value: 1n })],
      attempts: [attempt(1, { gasLimit: 1n }), attempt(2, { requestVersion: 2, gasLimit: 0n })]
    })
    assert.strictEqual(evmReservationOf(replaced), 11n * gwei + 500n)
    const canceled = submitted({
      versions: [request({ value: 500n })],
      attempts: [attempt(1, { kind: "noop", gasLimit: 2n })]
    })
    assert.strictEqual(evmReservationOf(canceled), 22n * gwei)
  })

  it("of the others leaves out the transaction itself, and what is mined or pending", () => {
    const one = submitted({ versions: [request({ value: 0n })], attempts: [attempt(1, { gasLimit: 1n })] })
    const other = submitted({
      number: 2,
      nonce: 6,
      versions: [request({ value: 7n })],
      attempts: [attempt(1, { nonce: 6, gasLimit: 1n })]
    })
    const totals = totalsOf([one, other, mined({ number: 3 }), pending({ number: 4 })], {})
    assert.strictEqual(othersOf(one, totals, false).reserved, 11n * gwei + 7n)
    assert.strictEqual(othersOf(pending(), totals, false).reserved, 22n * gwei + 7n)
  })
})

describe("the fee that counts for an API key", () => {
  const noops = { paidBefore: 7n }

  it("is what a final transaction has cost, with the no-ops at nonces that it has given up", () => {
    const { mined: { receipt } = assert.fail("no receipt") } = mined()
    assert.isAbove(Number(receipt.paid), 0)
    assert.strictEqual(feeOf(mined({ state: "confirmed", ...noops }), 5n), receipt.paid + 7n)
    assert.strictEqual(feeOf(pending({ state: "canceled" }), 5n), 0n)
  })

  it("is what the most expensive attempt of an open one can cost, and what is reserved before there is one", () => {
    const attempts = [attempt(1), attempt(2), attempt(3, { gasLimit: 1n })]
    assert.strictEqual(feeOf(submitted({ attempts, ...noops }), 5n), attempt(2).maxFee + 7n)
    assert.strictEqual(feeOf(pending(noops), 5n), 12n)
  })
})

describe("a shortage", () => {
  const budget = { balance: 1000n, reserved: 100n, minBalance: 50n, reserve: 20n }

  it("is there if less than the larger minimum would be left", () => {
    assert.isUndefined(shortageOf(850n, budget))
    assert.deepStrictEqual(shortageOf(851n, budget), {
      isOfRelayer: true,
      figures: { required: 851n, available: 900n, reserved: 100n, minimum: 50n }
    })
    assert.isUndefined(shortageOf(850n, { ...budget, minBalance: 0n, reserve: 50n }))
    assert.isDefined(shortageOf(851n, { ...budget, minBalance: 0n, reserve: 50n }))
  })

  it("is the lane's if not even the reserve for no-ops would be left", () => {
    assert.isTrue(shortageOf(880n, budget)?.isOfRelayer)
    assert.isFalse(shortageOf(881n, budget)?.isOfRelayer)
  })

  it("keeps back two no-ops at the current fast price", () => {
    const { market } = seen()
    assert.strictEqual(market && noopReserve(market, { noopGas: 21_000n }), 42_000n * (2n * gwei + 3n))
    const withData = market && noopReserve(market, { noopGas: 21_000n, noopDataFee: 5n })
    assert.strictEqual(withData, 42_000n * (2n * gwei + 3n) + 10n)
  })
})

describe("a payment", () => {
  const signed = attempt(1, { gasLimit: 50_000n })
  const { fees } = signed.offer
  const most = maxFeeOf(fees)
  const paid = (details: { readonly gasUsed?: bigint; readonly effectiveGasPrice?: bigint }) =>
    withPayment(signed, receiptIn(100, { gasUsed: 30_000n, effectiveGasPrice: most, ...details })).paid

  it("is what the receipt says", () => {
    assert.strictEqual(paid({}), 30_000n * most)
    assert.strictEqual(paid({ effectiveGasPrice: tipOf(fees) }), 30_000n * tipOf(fees))
  })

  it("is the most that was offered if the receipt says what cannot be", () => {
    for (const gasUsed of [1n, 20_999n, 50_001n]) assert.strictEqual(paid({ gasUsed }), 50_000n * most)
    for (const effectiveGasPrice of [0n, tipOf(fees) - 1n, most + 1n]) {
      assert.strictEqual(paid({ effectiveGasPrice }), 30_000n * most)
    }
  })
})
