// Prices that no block takes: they cost no nonce, and a nonce that has one can always be cleared.
import { assert, describe, it } from "@effect/vitest"
import { maxFeeOf } from "../../../../src/domain/transaction/evm/Fees.ts"
import { causeOf, later, noop, summary } from "./DecisionTable.ts"
import {
  attempt,
  commandsOf,
  gwei,
  lane,
  network,
  now,
  only,
  pending,
  request,
  seen,
  submitted,
  terms
} from "./Fixtures.ts"

const tips = { safeLow: gwei, average: gwei, fast: gwei, fastest: gwei }
const at = (baseFee: bigint) => ({ baseFee: baseFee * gwei, tips })
const given = (maxFee: bigint) => request({ max_fee_per_gas: maxFee * gwei, max_priority_fee_per_gas: gwei })
const dynamic = (maxFee: bigint) => ({ type: "eip1559" as const, maxFee: maxFee * gwei, tip: gwei })
const rich = { balance: 10n ** 21n }
const capped = (cap: bigint) => lane({ terms: terms({ cap: cap * gwei }) })

/** The price of the signature that is due. */
const priced = (commands: ReturnType<typeof commandsOf>): bigint => maxFeeOf(only(commands, "Sign").offer.fees) / gwei

describe("a request with given fees below the base fee", () => {
  const low = pending({ versions: [given(1n)] })

  it("gets no nonce, and the requests behind it pass it", () => {
    const commands = commandsOf(low, lane(), seen({ market: at(50n) }))
    assert.strictEqual(only(commands, "Hold").scope, "transaction")
    assert.deepStrictEqual(causeOf(commands), {
      code: "gas_price_below_base_fee",
      figures: { base_fee: 50n * gwei, price: gwei, limit: "given" }
    })
  })

  it("is signed when the base fee has fallen to them", () => {
    assert.strictEqual(priced(commandsOf(low, lane(), seen({ market: at(1n) }))), 1n)
  })

  it("ends at once by its deadline", () => {
    const late = pending({ versions: [given(1n)], validUntil: now })
    assert.strictEqual(summary(commandsOf(late, lane(), seen({ market: at(50n) }))), "Finish expired deadline_passed")
  })
})

describe("a given gas limit above that of a block", () => {
  const large = pending({ versions: [request({ gas_limit: 40_000_000n })] })
  const view = seen({ head: { number: 100, hash: "block-100", gasLimit: 30_000_000n } })

  it("is refused without a nonce, whatever it would cost", () => {
    assert.strictEqual(summary(commandsOf(large, lane(), view)), "Finish failed gas_limit_above_block")
  })
})

describe("a no-op", () => {
  const canceled = (...attempts: ReadonlyArray<ReturnType<typeof attempt>>) =>
    submitted({ intent: "cancel", versions: [given(1n)], attempts })

  it("follows the market without a cap, however low the first attempt was", () => {
    const spike = later(12, { ...rich, market: at(100n) })
    const first = attempt(1, { fees: dynamic(3n) })
    assert.strictEqual(priced(commandsOf(canceled(first), lane(), spike)), 201n)
    const second = { ...noop(2), offer: { fees: dynamic(30n), gasLimit: 21_000n } }
    assert.strictEqual(priced(commandsOf(canceled(first, second), lane(), spike, now + 24_000)), 201n)
  })

  it("with a cap replaces an older no-op while the base fee is within the cap", () => {
    const first = attempt(1, { fees: dynamic(10n) })
    const second = { ...noop(2), offer: { fees: dynamic(20n), gasLimit: 21_000n } }
    const commands = commandsOf(
      canceled(first, second),
      capped(20n),
      later(12, { ...rich, market: at(20n) }),
      now + 24_000
    )
    assert.isAbove(Number(priced(commands)), 20)
  })
})

describe("an offer that leaves less than one replacement below its ceiling", () => {
  it("is the ceiling, so that the lane follows the market to the cap", () => {
    const bumped = commandsOf(
      submitted({ attempts: [attempt(1, { fees: dynamic(16n) })] }),
      capped(20n),
      later(12, { ...rich, market: at(8n) }),
      now + 24_000
    )
    assert.strictEqual(priced(bumped), 20n)
    assert.strictEqual(priced(commandsOf(pending(), capped(20n), seen({ ...rich, market: at(9n) }))), 20n)
  })

  it("stays what the request gives when it is signed first", () => {
    const first = pending({ versions: [given(19n)] })
    assert.strictEqual(priced(commandsOf(first, capped(20n), seen({ ...rich, market: at(9n) }))), 19n)
  })
})

describe("a price that no block takes and that may not be raised", () => {
  it("names the base fee, the newest price, the ceiling and what limits it", () => {
    const low = submitted({ versions: [given(1n)], attempts: [attempt(1, { fees: dynamic(3n) })] })
    const commands = commandsOf(low, lane(), later(12, { ...rich, market: at(50n) }), now + 24_000)
    assert.deepStrictEqual(causeOf(commands), {
      code: "below_base_fee",
      figures: { base_fee: 50n * gwei, price: 3n * gwei, cap: 3n * gwei, limit: "given" }
    })
  })
})

describe("a priority fee that a provider names", () => {
  const greedy = { baseFee: gwei, tips: { safeLow: gwei, average: gwei, fast: 1_000_000n * gwei, fastest: gwei } }
  const tipOf = (situation: ReturnType<typeof lane>, market: typeof greedy) => {
    const { fees } = only(commandsOf(pending(), situation, seen({ balance: 10n ** 24n, market })), "Sign").offer
    return fees.type === "eip1559" ? fees.tip / gwei : 0n
  }

  it("is at most 100 gwei without a cap, or ten times the base fee", () => {
    assert.strictEqual(tipOf(lane(), greedy), 100n)
    assert.strictEqual(tipOf(lane(), { ...greedy, baseFee: 50n * gwei }), 500n)
  })

  it("is at most the limit that the network sets", () => {
    const limited = lane({ terms: terms({ network: { ...network, tipCap: 3n * gwei } }) })
    assert.strictEqual(tipOf(limited, greedy), 3n)
  })

  it("with a gas_price_cap is limited by the cap", () => {
    assert.strictEqual(tipOf(capped(700n), greedy), 700n)
  })
})
