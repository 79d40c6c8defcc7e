// Decisions about top-ups: single cases, and a model of two instances, crashes, lies, stale nodes and a sliding window.
import { Arbitrary, Schema } from "effect"
import { assert, describe, it } from "@effect/vitest"
import { allowedOf, look, outcomeOf } from "../../../src/networks/core/TopUpDecision.ts"
import type { BalanceAt, Limits, Look, PaidBefore } from "../../../src/networks/core/TopUpDecision.ts"
import type { TopUp } from "../../../src/domain/relayer/TopUp.ts"
import { property } from "../../../testkit/Depth.ts"

const policy: TopUp = { from: "treasury", below: 10n, to: 100n, max_per_day: 250n }

const untouched: PaidBefore = { isOpen: false, hasFailed: false, isRestored: false }

const looked = (readings: ReadonlyArray<BalanceAt>, over: Partial<Parameters<typeof look>[0]> = {}): Look =>
  look({ policy, before: untouched, configured: 2, readings, ...over })

const low = (height: number, balance = 5n): BalanceAt => ({ height, balance })

const due = (wanted: bigint): Look => ({ _tag: "Due", kind: "transfer", wanted, least: 1n })

describe("a look at the balance of a relayer", () => {
  it("pays up to `to` from the lowest of two low balances", () => {
    assert.deepStrictEqual(looked([low(1), low(2, 3n)]), due(97n))
    assert.deepStrictEqual(looked([low(1), low(2, 10n)]), { _tag: "Wait", code: "balance_unconfirmed" })
    assert.deepStrictEqual(looked([low(1), low(2, 10n), low(1, 9n)]), due(95n))
    assert.deepStrictEqual(looked([low(1, 10n), low(2, 10n)]), { _tag: "Nothing" })
    assert.deepStrictEqual(looked([]), { _tag: "Nothing" })
  })

  it("counts no block that may be without the last payment", () => {
    const before = { ...untouched, height: 7 }
    assert.deepStrictEqual(looked([low(6), low(6)], { before }), { _tag: "Nothing" })
    assert.deepStrictEqual(looked([low(6), low(7)], { before }), { _tag: "Wait", code: "balance_unconfirmed" })
    assert.deepStrictEqual(looked([low(7), low(7)], { before }), due(95n))
  })

  it("needs two blocks of a single provider, both with the last payment", () => {
    const alone = (height: number, before: Partial<PaidBefore> = {}) =>
      looked([low(height)], { configured: 1, before: { ...untouched, ...before } })
    assert.deepStrictEqual(alone(5), { _tag: "Wait", lowHeight: 5 })
    assert.deepStrictEqual(alone(5, { lowHeight: 5 }), { _tag: "Wait", lowHeight: 5 })
    assert.deepStrictEqual(alone(6, { lowHeight: 5 }), due(95n))
    assert.deepStrictEqual(alone(4, { lowHeight: 5 }), { _tag: "Wait", lowHeight: 4 })
    assert.deepStrictEqual(alone(8, { lowHeight: 5, height: 6 }), { _tag: "Wait", lowHeight: 8 })
    assert.deepStrictEqual(alone(8, { lowHeight: 6, height: 6 }), due(95n))
  })

  it("pays when the balance lasts too short, whatever it is", () => {
    const hours = { policy: { ...policy, runway_hours: 24 } }
    const enough = [low(1, 60n), low(1, 60n)]
    assert.deepStrictEqual(looked(enough, { ...hours, runwayHours: 23.9 }), due(40n))
    assert.deepStrictEqual(looked(enough, { ...hours, runwayHours: 24 }), { _tag: "Nothing" })
    assert.deepStrictEqual(looked(enough, hours), { _tag: "Nothing" })
    assert.deepStrictEqual(looked(enough, { runwayHours: 1 }), { _tag: "Nothing" })
    assert.deepStrictEqual(looked([low(1, 100n), low(1, 100n)], { ...hours, runwayHours: 1 }), { _tag: "Nothing" })
  })

  it("waits while a payment is open, after one that failed, and while the last day is not known", () => {
    const both = [low(1), low(1)]
    const after = (before: Partial<PaidBefore>) => looked(both, { before: { ...untouched, ...before } })
    assert.deepStrictEqual(after({ isOpen: true }), { _tag: "Nothing" })
    assert.deepStrictEqual(after({ hasFailed: true, lastKind: "transfer" }), { _tag: "Wait", code: "top_up_failed" })
    assert.deepStrictEqual(after({ hasFailed: true, lastKind: "create" }), due(95n))
    assert.deepStrictEqual(after({ isRestored: true }), { _tag: "Wait", code: "top_ups_unknown" })
  })

  it("creates an account that does not exist, with what it needs to exist", () => {
    const absent: BalanceAt = { height: 1, balance: 0n, reserve: 20n }
    const found = looked([absent, absent])
    assert.deepStrictEqual(found, { _tag: "Due", kind: "create", wanted: 120n, least: 20n })
    if (found._tag !== "Due") return
    const limits: Limits = { maxPerDay: 250n, used: 231n, usedOfPayer: 0n, fee: 0n }
    assert.deepStrictEqual(allowedOf(found, limits), { code: "top_up_capped" })
    assert.deepStrictEqual(allowedOf(found, { ...limits, used: 230n }), { amount: 20n })
  })
})

describe("the amount of a top-up", () => {
  const allowed = (over: Partial<Limits>, wanted = 95n) =>
    allowedOf({ wanted, least: 1n }, { maxPerDay: 250n, used: 0n, usedOfPayer: 0n, fee: 1n, ...over })

  it("is cut by what the limits leave, and is at least ten times its fee", () => {
    assert.deepStrictEqual(allowed({}), { amount: 95n })
    assert.deepStrictEqual(allowed({ used: 200n }), { amount: 50n })
    assert.deepStrictEqual(allowed({ used: 240n }), { amount: 10n })
    assert.deepStrictEqual(allowed({ used: 241n }), { code: "top_up_capped" })
    assert.deepStrictEqual(allowed({ used: 300n }), { code: "top_up_capped" })
    assert.deepStrictEqual(allowed({ outPerDay: 30n, usedOfPayer: 10n }), { amount: 20n })
    assert.deepStrictEqual(allowed({ outPerDay: 30n, usedOfPayer: 21n }), { code: "payer_capped" })
    assert.deepStrictEqual(allowed({ fee: 10n }), { code: "amount_too_small" })
  })
})

describe("the outcome of a payment", () => {
  const attempt = (kind: "original" | "noop", ordinal = 1) => ({ kind, ordinal }) as never
  const receipt = (isSuccess: boolean) => ({ height: 1, isSuccess, paid: 0n, details: {} })

  it("counts as paid unless it is proven that nothing was paid", () => {
    const of = (state: "confirmed" | "failed" | "expired", over: object = {}) =>
      outcomeOf({ state, attempts: [attempt("original")], ...over })
    assert.strictEqual(of("confirmed"), "paid")
    assert.strictEqual(of("failed", { mined: { ordinal: 1, receipt: receipt(true) } }), "paid")
    assert.strictEqual(of("failed", { mined: { receipt: receipt(true) } }), "paid")
    assert.strictEqual(of("failed", { mined: { ordinal: 1, receipt: receipt(false) } }), "none")
    assert.strictEqual(
      of("expired", { attempts: [attempt("noop")], mined: { ordinal: 1, receipt: receipt(true) } }),
      "none"
    )
    assert.strictEqual(of("expired"), "unknown")
    assert.strictEqual(of("expired", { attempts: [] }), "none")
  })
})

// A model: the chain, the ledger, and instances that look at one moment and accept at another.

const hour = 3_600_000
const day = 24 * hour

/** What happens next. `provider`: whose answer is meant. */
type Step =
  | { readonly _tag: "Look"; readonly instance: number }
  | { readonly _tag: "Accept"; readonly instance: number }
  | { readonly _tag: "Crash"; readonly instance: number }
  | { readonly _tag: "Land"; readonly succeeds: boolean }
  | { readonly _tag: "Settle" }
  | { readonly _tag: "Spend"; readonly amount: number }
  | { readonly _tag: "Wait"; readonly hours: number }
  | { readonly _tag: "Lag"; readonly provider: number; readonly blocks: number }
  | { readonly _tag: "Lie"; readonly provider: number; readonly balance: number }
  | { readonly _tag: "Restore" }

/** The usual steps come more often than the others. */
const stepsOf: ReadonlyArray<(value: number) => Step> = [
  ...Array<(value: number) => Step>(4).fill((value) => ({ _tag: "Look", instance: value % 2 })),
  ...Array<(value: number) => Step>(4).fill((value) => ({ _tag: "Accept", instance: value % 2 })),
  ...Array<(value: number) => Step>(3).fill((value) => ({ _tag: "Land", succeeds: value % 4 !== 0 })),
  ...Array<(value: number) => Step>(3).fill(() => ({ _tag: "Settle" })),
  ...Array<(value: number) => Step>(3).fill((value) => ({ _tag: "Spend", amount: 1 + (value % 100) })),
  ...Array<(value: number) => Step>(2).fill((value) => ({ _tag: "Wait", hours: 1 + (value % 13) })),
  (value) => ({ _tag: "Crash", instance: value % 2 }),
  (value) => ({ _tag: "Lag", provider: value % 3, blocks: (value >> 2) % 4 }),
  (value) => ({ _tag: "Lie", provider: 2, balance: value }),
  () => ({ _tag: "Restore" })
]

const between = (maximum: number) => Schema.Int.check(Schema.isBetween({ minimum: 0, maximum }))

const steps = Arbitrary.array(
  Arbitrary.schema(Schema.Struct({ kind: between(stepsOf.length - 1), value: between(200) })),
  { maxLength: 120 }
).pipe(Arbitrary.map((given) => given.flatMap(({ kind, value }) => stepsOf[kind]?.(value) ?? [])))

interface Payment {
  readonly amount: bigint
  /** When it reached the chain. */
  landedAt?: number
  succeeds?: boolean
  /** When the ledger has seen its end. */
  endedAt?: number
  height?: number
}

/** Runs the steps. Provider 2 may lie, the others may be behind. Returns what arrived on the chain. */
const run = (given: ReadonlyArray<Step>) => {
  let now = 0
  /** Balances by block. */
  const balances = [0n]
  const payments: Array<Payment> = []
  const lags = [0, 0, 0]
  let lie: bigint | undefined
  let restoredAt = Number.NEGATIVE_INFINITY
  const decisions: Array<
    { readonly due: Extract<Look, { readonly _tag: "Due" }>; readonly sequence: number } | undefined
  > = [undefined, undefined]
  const arrived: Array<{ readonly at: number; readonly amount: bigint }> = []
  const open = () => payments.find(({ endedAt }) => endedAt === undefined)
  const block = (change: bigint) => balances.push((balances.at(-1) ?? 0n) + change)
  const readings = (): ReadonlyArray<BalanceAt> =>
    lags.map((lag, index) => {
      const height = Math.max(balances.length - 1 - lag, 0)
      const balance = index === 2 && lie !== undefined ? lie : (balances[height] ?? 0n)
      return { height, balance }
    })
  const before = (): PaidBefore => {
    const heights = payments.flatMap(({ endedAt, height }) => (endedAt === undefined ? [] : (height ?? [])))
    const last = payments.at(-1)
    return {
      isOpen: open() !== undefined,
      hasFailed: last?.endedAt !== undefined && last.succeeds === false && now - last.endedAt < hour / 6,
      lastKind: last === undefined ? undefined : "transfer",
      isRestored: now - restoredAt < day,
      height: heights.length === 0 ? undefined : Math.max(...heights)
    }
  }
  const used = () =>
    payments
      .filter(({ endedAt, succeeds }) => endedAt === undefined || (succeeds !== false && now - endedAt < day))
      .reduce((sum, { amount }) => sum + amount, 0n)

  for (const step of given) {
    now += 1000
    switch (step._tag) {
      case "Look": {
        const found = look({ policy, before: before(), configured: 3, readings: readings() })
        decisions[step.instance] = found._tag === "Due" ? { due: found, sequence: payments.length } : undefined
        break
      }
      case "Accept": {
        const decision = decisions[step.instance]
        decisions[step.instance] = undefined
        // Under the locks: nothing was paid since the look.
        if (decision === undefined || open() !== undefined || decision.sequence !== payments.length) break
        if (now - restoredAt < day) break
        const allowed = allowedOf(decision.due, {
          maxPerDay: policy.max_per_day,
          used: used(),
          usedOfPayer: 0n,
          fee: 0n
        })
        if ("amount" in allowed) payments.push({ amount: allowed.amount })
        break
      }
      case "Crash":
        decisions[step.instance] = undefined
        break
      case "Land": {
        const payment = open()
        if (payment === undefined || payment.landedAt !== undefined) break
        payment.landedAt = now
        payment.succeeds = step.succeeds
        if (step.succeeds) arrived.push({ at: now, amount: payment.amount })
        block(step.succeeds ? payment.amount : 0n)
        payment.height = balances.length - 1
        break
      }
      case "Settle": {
        const payment = open()
        if (payment?.landedAt !== undefined) payment.endedAt = now
        break
      }
      case "Spend": {
        const balance = balances.at(-1) ?? 0n
        block(-(balance < BigInt(step.amount) ? balance : BigInt(step.amount)))
        break
      }
      case "Wait":
        now += step.hours * hour
        block(0n)
        break
      case "Lag":
        lags[step.provider] = step.blocks
        break
      case "Lie":
        lie = BigInt(step.balance)
        break
      case "Restore":
        // The ledger forgets what it has accepted since the copy, and knows that it is a copy.
        payments.splice(0, payments.length, ...payments.filter(({ landedAt }) => landedAt === undefined))
        restoredAt = now
        break
    }
  }
  return { arrived, payments }
}

describe("top-ups of two instances, with crashes, a liar, nodes that are behind, and restores", () => {
  it.prop(
    "never pay more than the limit in any 24 hours, and have one open payment at most",
    [steps],
    ([given]) => {
      const { arrived, payments } = run(given)
      for (const { at } of arrived) {
        const sum = arrived
          .filter((other) => other.at >= at && other.at < at + day)
          .reduce((total, { amount }) => total + amount, 0n)
        assert.isAtMost(Number(sum), Number(policy.max_per_day))
      }
      assert.isAtMost(payments.filter(({ endedAt }) => endedAt === undefined).length, 1)
    },
    property(5000, { size: 120 })
  )

  it("pay once for one low balance", () => {
    const { arrived } = run([
      { _tag: "Look", instance: 0 },
      { _tag: "Look", instance: 1 },
      { _tag: "Accept", instance: 0 },
      { _tag: "Accept", instance: 1 },
      { _tag: "Land", succeeds: true },
      { _tag: "Settle" },
      { _tag: "Lag", provider: 0, blocks: 1 },
      { _tag: "Look", instance: 0 },
      { _tag: "Accept", instance: 0 }
    ])
    assert.deepStrictEqual(
      arrived.map(({ amount }) => amount),
      [100n]
    )
  })
})
