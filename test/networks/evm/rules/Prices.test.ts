// Prices that no block takes: they cost no nonce, and a nonce that has one can always be cleared.
import { Result } from "effect"
import { assert, describe, it } from "@effect/vitest"
import { feeOf } from "../../../../src/networks/core/Queue.ts"
import { canReplace } from "../../../../src/networks/core/Rules.ts"
import { apply, withCancellation } from "../../../../src/networks/core/Transition.ts"
import { cancel } from "../../../../src/networks/evm/rules/EvmRules.ts"
import { maxFeeOf } from "../../../../src/networks/evm/rules/Market.ts"
import { causeOf, later, noop, summary } from "./DecisionTable.ts"
import {
  agreed,
  attempt,
  commandsOf,
  gwei,
  lane,
  mined,
  network,
  now,
  only,
  others,
  pending,
  receiptIn,
  request,
  seen,
  submitted,
  taker,
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

describe("a nonce that an operator clears with a price", () => {
  const cleared = (clearPrice: bigint, ...attempts: ReadonlyArray<ReturnType<typeof attempt>>) =>
    submitted({ intent: "clear", clearCode: "canceled", clearPrice: clearPrice * gwei, attempts })
  const first = attempt(1, { fees: dynamic(3n) })

  it("gets a no-op that follows the market to that price, above the cap of the relayer", () => {
    const view = later(1, { ...rich, market: at(50n) })
    assert.strictEqual(priced(commandsOf(cleared(200n, first), capped(5n), view)), 101n)
    assert.strictEqual(priced(commandsOf(cleared(60n, first), capped(5n), view)), 60n)
  })

  it("names the price as what limits it if no block takes it", () => {
    const commands = commandsOf(cleared(3n, first), lane(), later(1, { ...rich, market: at(50n) }))
    assert.deepStrictEqual(causeOf(commands), {
      code: "below_base_fee",
      figures: { base_fee: 50n * gwei, price: 3n * gwei, cap: 3n * gwei, limit: "operator" }
    })
  })
})

describe("a transaction with given fees that no block takes", () => {
  const fees = dynamic(3n)
  const low = (over: Parameters<typeof submitted>[0] = {}) =>
    submitted({ versions: [given(1n)], attempts: [attempt(1, { fees })], ...over })
  const behind = lane({ others: others({ inFlight: 2 }) })
  const spike = later(12, { ...rich, market: at(50n) })
  const yields = (...situation: Parameters<typeof commandsOf>) => summary(commandsOf(...situation))

  it("yields its nonce to those behind it after three times its patience", () => {
    assert.strictEqual(yields(low(), behind, spike, now + 24_000), "Intend clear yielding")
    assert.strictEqual(
      yields(low(), behind, later(11, { ...rich, market: at(50n) }), now + 24_000),
      "Hold transaction below_base_fee"
    )
  })

  it("keeps its nonce if nothing waits behind it, if it is not next, or after three times", () => {
    const alone = lane({ others: others({ inFlight: 1 }) })
    const kept = "Hold transaction below_base_fee"
    assert.strictEqual(yields(low(), alone, spike, now + 24_000), kept)
    assert.strictEqual(yields(low({ yields: 3 }), behind, spike, now + 24_000), kept)
    assert.notInclude(yields(low(), behind, { ...spike, count: 4 }, now + 24_000), "yielding")
  })

  it("yields to a pending one if the window has room for one transaction", () => {
    const single = { lane: { ...lane().lane, windowSize: 1 } }
    const waiting = lane({ ...single, others: others({ inFlight: 1, open: 2 }) })
    assert.strictEqual(yields(low(), waiting, spike, now + 24_000), "Intend clear yielding")
    const alone = lane({ ...single, others: others({ inFlight: 1, open: 1 }) })
    assert.strictEqual(yields(low(), alone, spike, now + 24_000), "Hold transaction below_base_fee")
  })

  const yielding = { intent: "clear", clearCode: "yielding" } as const
  const byNoop = mined({ ...yielding, state: "submitted", versions: [given(1n)], attempts: [attempt(1), noop(2)] }, 2)

  it("stays submitted while the block of its no-op is not final", () => {
    const receipt = receiptIn(100)
    const open = low({ ...yielding, attempts: [attempt(1), noop(2)] })
    const view = seen({ count: 6, sights: new Map([[2, { _tag: "Receipt", receipt }]]) })
    assert.strictEqual(summary(commandsOf(open, lane(), view)), "Mine submitted yielding")
    assert.strictEqual(summary(commandsOf(byNoop, lane(), seen({ minedAt: agreed() }))), "Hold transaction yielding")
  })

  it("goes on without a nonce when its no-op is final, and keeps what that cost", () => {
    const requeue = only(commandsOf(byNoop, lane(), later(2, { minedAt: agreed(), market: at(50n) })), "Requeue")
    assert.deepStrictEqual(requeue.cause, {
      code: "gas_price_below_base_fee",
      figures: { base_fee: 50n * gwei, price: gwei, limit: "given" }
    })
    const after = apply(byNoop, requeue, now)
    assert.deepInclude(after, { state: "pending", intent: "execute", yields: 1, requeues: 0 })
    assert.notProperty(after, "clearCode")
    assert.strictEqual(after.paidBefore, byNoop.mined?.receipt.paid)
    assert.strictEqual(feeOf(after, 7n), 7n + (after.paidBefore ?? 0n))
  })

  it("waits for an operator instead if the ledger may have forgotten an attempt of it", () => {
    const restored = { ...byNoop, restored: true }
    const requeue = only(commandsOf(restored, lane(), later(2, { minedAt: agreed() })), "Requeue")
    assert.deepInclude(requeue, { restored: true })
    assert.strictEqual(requeue.cause.code, "restored_unproven")
  })

  it("is confirmed if its own bytes are mined first", () => {
    const executed = mined({ ...yielding, versions: [given(1n)], attempts: [attempt(1), noop(2)] }, 1)
    assert.strictEqual(
      summary(commandsOf(executed, lane(), later(2, { minedAt: agreed() }))),
      "Finish confirmed confirmed"
    )
  })

  it("gets a new nonce if another transaction of the account used its nonce", () => {
    const open = low({ ...yielding, attempts: [attempt(1), noop(2)] })
    const requeue = only(commandsOf(open, lane(), seen({ count: 6, countAtFinal: 6, taker })), "Requeue")
    assert.deepInclude(apply(open, requeue, now), { state: "pending", intent: "execute", requeues: 1, yields: 0 })
  })

  it("can be canceled by its caller, and cannot be replaced meanwhile", () => {
    const open = low({ ...yielding, attempts: [attempt(1), noop(2)] })
    const canceled = Result.getOrThrow(cancel(open))
    assert.deepInclude(withCancellation(open, canceled, now), { intent: "cancel" })
    assert.isTrue(Result.isFailure(canReplace(open)))
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
