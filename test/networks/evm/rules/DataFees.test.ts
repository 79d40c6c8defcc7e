// What a rollup charges for data counts in funds, in limits of API keys, and in what a transaction has paid.
import { DateTime } from "effect"
import { assert, describe, it } from "@effect/vitest"
import { RelayerId } from "../../../../src/domain/relayer/Relayer.ts"
import { feeOf } from "../../../../src/networks/core/Queue.ts"
import { TransactionId } from "../../../../src/networks/core/TransactionValues.ts"
import { evmReservationOf } from "../../../../src/networks/evm/rules/Costs.ts"
import { show as responseOf } from "../../../../src/networks/evm/rules/EvmWords.ts"
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

/** Wei that 21,000 gas cost at most at the market of `seen` and the speed `average`. */
const gasCost = 21_000n * (2n * gwei + 2n)

/** What two no-ops at the speed `fast` cost. */
const reserve = 42_000n * (2n * gwei + 3n)

describe("a fee for data", () => {
  it("is needed besides gas and value before the first signature, and is kept with the attempt", () => {
    const balance = gasCost + 1n + reserve + 7n
    const speed = pending({ versions: [request({ speed: "average" })] })
    const { offer } = only(commandsOf(speed, lane(), seen({ balance, dataFee: 7n })), "Sign")
    assert.strictEqual(offer.rollupFee, 7n)
    const { cause } = only(commandsOf(speed, lane(), seen({ balance, dataFee: 8n })), "Hold")
    assert.strictEqual(cause.code, "insufficient_funds")
    assert.strictEqual(cause.figures.required, gasCost + 1n + 8n)
  })

  it("of two no-ops stays on the account", () => {
    const balance = gasCost + 1n + reserve + 10n
    const speed = pending({ versions: [request({ speed: "average" })] })
    only(commandsOf(speed, lane(), seen({ balance, noopDataFee: 5n })), "Sign")
    const { cause } = only(commandsOf(speed, lane(), seen({ balance, noopDataFee: 6n })), "Hold")
    assert.strictEqual(cause.figures.minimum, reserve + 12n)
  })

  it("is reserved while the transaction is in flight", () => {
    const priced = submitted({ versions: [request({ value: 0n })], attempts: [attempt(1, { rollupFee: 7n })] })
    assert.strictEqual(evmReservationOf(priced), 21_000n * 11n * gwei + 7n)
  })

  it("lowers the price that the limit of an API key leaves", () => {
    const feeLimit = 21_000n * gwei * 3n
    const limited = lane({ terms: terms({ feeLimit }) })
    assert.strictEqual(
      only(commandsOf(pending(), limited, seen({ dataFee: 21_000n * gwei })), "Sign").offer.fees.type,
      "eip1559"
    )
    const { cause } = only(commandsOf(pending(), limited, seen({ dataFee: 21_000n * gwei * 2n + 1n })), "Hold")
    assert.strictEqual(cause.code, "gas_price_above_cap")
    assert.strictEqual(cause.figures.cap, gwei - 1n)
    const { cause: none } = only(commandsOf(pending(), limited, seen({ dataFee: feeLimit + 1n })), "Hold")
    assert.strictEqual(none.figures.cap, 0n)
  })

  it("is the same for a bump, and that of a no-op for a no-op", () => {
    const late = { at: now, height: 0 }
    const waiting = attempt(1, { rollupFee: 7n, firstSent: late })
    const market = { baseFee: 100n * gwei, tips: { safeLow: 1n, average: 2n, fast: 3n, fastest: 4n } }
    const bumped = only(commandsOf(submitted({ attempts: [waiting] }), lane(), seen({ market }), now + 100_000), "Sign")
    assert.deepStrictEqual([bumped.kind, bumped.offer.rollupFee], ["bump", 7n])
    const canceled = submitted({ attempts: [waiting], intent: "cancel" })
    const noop = only(commandsOf(canceled, lane(), seen({ noopDataFee: 3n })), "Sign")
    assert.deepStrictEqual([noop.kind, noop.offer.rollupFee], ["noop", 3n])
  })

  it("counts toward the limit of the API key: the most that it can be, then what was charged", () => {
    assert.strictEqual(feeOf(submitted({ attempts: [attempt(1, { rollupFee: 7n })] }), 1n), 21_000n * 11n * gwei + 7n)
    const paid = { ...mined({}, 1, { dataFee: 5n }), state: "confirmed" as const }
    assert.strictEqual(feeOf(paid, 1n), 20_000n * gwei + 5n)
  })

  it("is in fee_paid", () => {
    const shown = responseOf(mined({}, 1, { dataFee: 5n }), {
      id: TransactionId.make("0b5e4f9c-1f0e-4c55-9d5a-8e2f6b1c7d3a"),
      relayerId: RelayerId.make("r1"),
      from: "0x5aaeb6053f3e94c9b9a09f33669435e7ef1beaed",
      confirmedAt: DateTime.toEpochMillis(DateTime.makeUnsafe(now))
    })
    assert.strictEqual(shown.fee_paid, 20_000n * gwei + 5n)
  })
})
