// What the operator of an OP-stack chain charges: its two formulas, and where it counts.
import { DateTime } from "effect"
import { assert, describe, it } from "@effect/vitest"
import { RelayerId } from "../../../../src/domain/relayer/Relayer.ts"
import { feeOf } from "../../../../src/networks/core/Queue.ts"
import { TransactionId } from "../../../../src/networks/core/TransactionValues.ts"
import { evmReservationOf, noopReserve } from "../../../../src/networks/evm/rules/Costs.ts"
import { show as responseOf } from "../../../../src/networks/evm/rules/EvmWords.ts"
import {
  operatorFeeAt,
  operatorFeeFromParameters,
  operatorFeeFromSamples
} from "../../../../src/networks/evm/rules/Market.ts"
import {
  attempt,
  commandsOf,
  gwei,
  lane,
  mined,
  now,
  only,
  pending,
  request,
  seen,
  submitted,
  terms
} from "./Fixtures.ts"

const maxScalar = 2n ** 32n - 1n
const maxConstant = 2n ** 64n - 1n

const base = { baseFee: gwei, tips: { safeLow: 1n, average: 2n, fast: 3n, fastest: 4n } }

/** 10 wei, and 2 wei per gas. */
const market = { ...base, operatorFee: { constant: 10n, perMillionGas: 2_000_000n } }

/** For 21,000 gas. */
const operatorFee = 42_010n

describe("the fee of an operator", () => {
  it("is a millionth of the scalar per gas since Isthmus, and a hundred times the scalar since Jovian", () => {
    const at = (isJovian: boolean) => {
      const fee = operatorFeeFromParameters({ scalar: 1500n, constant: 7n, isJovian })
      return fee && operatorFeeAt(fee, 21_000n)
    }
    assert.strictEqual(at(false), 31n + 7n)
    assert.strictEqual(at(true), 21_000n * 1500n * 100n + 7n)
  })

  it("follows from two answers of the chain, whichever formula it uses", () => {
    for (const isJovian of [false, true]) {
      const fee = operatorFeeFromParameters({ scalar: maxScalar, constant: maxConstant, isJovian })
      assert.isDefined(fee)
      assert.deepStrictEqual(operatorFeeFromSamples(operatorFeeAt(fee, 0n), operatorFeeAt(fee, 1_000_000n)), fee)
    }
  })

  it("is not known if the answers are impossible", () => {
    assert.isUndefined(operatorFeeFromSamples(8n, 7n))
    assert.isUndefined(operatorFeeFromSamples(maxConstant + 1n, maxConstant + 1n))
    assert.isUndefined(operatorFeeFromSamples(0n, maxScalar * 10n ** 8n + 1n))
    assert.isUndefined(operatorFeeFromParameters({ scalar: maxScalar + 1n, constant: 0n, isJovian: true }))
    assert.isUndefined(operatorFeeFromParameters({ scalar: 0n, constant: maxConstant + 1n, isJovian: false }))
  })

  it("is needed for the gas limit before the first signature, beside what data costs, and is kept with the attempt", () => {
    const speed = pending({ versions: [request({ speed: "average" })] })
    const cost = 21_000n * (2n * gwei + 2n) + 1n + operatorFee + 5n
    const balance = cost + noopReserve(market, { noopGas: 21_000n })
    const { offer } = only(commandsOf(speed, lane(), seen({ balance, market, dataFee: 5n })), "Sign")
    assert.strictEqual(offer.rollupFee, operatorFee + 5n)
    const { cause } = only(commandsOf(speed, lane(), seen({ balance: balance - 1n, market, dataFee: 5n })), "Hold")
    assert.strictEqual(cause.code, "insufficient_funds")
    assert.strictEqual(cause.figures.required, cost)
  })

  it("of two no-ops stays on the account", () => {
    const noop = { noopGas: 21_000n, noopDataFee: 3n }
    assert.strictEqual(noopReserve(market, noop), noopReserve(base, noop) + 2n * operatorFee)
  })

  it("is reserved while the transaction is in flight, and is part of a no-op and of a replacement", () => {
    const sent = attempt(1, { rollupFee: 3n })
    assert.strictEqual(
      evmReservationOf(submitted({ versions: [request({ value: 0n })], attempts: [sent] })),
      21_000n * 11n * gwei + 3n
    )
    const canceled = submitted({ attempts: [sent], intent: "cancel" })
    assert.strictEqual(only(commandsOf(canceled, lane(), seen({ market })), "Sign").offer.rollupFee, operatorFee)
    const replaced = submitted({ versions: [request(), request({ value: 2n })], attempts: [sent] })
    const { kind, offer } = only(commandsOf(replaced, lane(), seen({ market })), "Sign")
    assert.deepStrictEqual([kind, offer.rollupFee], ["replace", operatorFee])
  })

  it("lowers the price that the limit of an API key leaves", () => {
    const limited = lane({ terms: terms({ feeLimit: 21_000n * gwei + operatorFee - 1n }) })
    const { cause } = only(commandsOf(pending(), limited, seen({ market })), "Hold")
    assert.strictEqual(cause.code, "gas_price_above_cap")
    assert.strictEqual(cause.figures.cap, gwei - 1n)
  })

  it("that was charged is in fee_paid, and counts toward the limit of the API key", () => {
    const paid = mined({}, 1, { dataFee: 5n, operatorFee: 6n })
    const shown = responseOf(paid, {
      id: TransactionId.make("0b5e4f9c-1f0e-4c55-9d5a-8e2f6b1c7d3a"),
      relayerId: RelayerId.make("r1"),
      from: "0x5aaeb6053f3e94c9b9a09f33669435e7ef1beaed",
      confirmedAt: DateTime.toEpochMillis(DateTime.makeUnsafe(now))
    })
    assert.strictEqual(shown.fee_paid, 20_000n * gwei + 11n)
    assert.strictEqual(feeOf({ ...paid, state: "confirmed" as const }, 1n), 20_000n * gwei + 11n)
  })
})
