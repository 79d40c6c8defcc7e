// Rules about transactions that wait for their nonce: their order, and what holds them.
import { assert, describe, it } from "@effect/vitest"
import { cause } from "../../../../src/networks/core/Cause.ts"
import type { Transaction } from "../../../../src/networks/core/Transaction.ts"
import { laneOf } from "../../../../src/networks/evm/rules/Evm.ts"
import type { Evm } from "../../../../src/networks/evm/rules/Evm.ts"
import { summary } from "./DecisionTable.ts"
import { commandsOf, ether, lane, now, only, pending, plan, request, seen, terms, totalsOf } from "./Fixtures.ts"

const base = () => {
  const { terms: _, others: __, lane: nonces, ...rest } = lane()
  return { ...rest, lane: laneOf(nonces) }
}

const candidates = (
  transactions: ReadonlyArray<Transaction<Evm>>,
  paused: number | undefined = undefined,
  view = seen()
) =>
  transactions.map((transaction) => ({
    transaction,
    terms: terms({ isPaused: transaction.relayerNumber === paused }),
    view,
    providers: "of the network"
  }))

const numbersOf = (transactions: ReadonlyArray<Transaction<Evm>>, paused?: number, view = seen(), limit = 32) =>
  plan(candidates(transactions, paused, view), base(), totalsOf([], {}), now, limit).signings.map(
    ({ transaction, place }) => [transaction.number, Number(place.sequence)]
  )

const row = (number: number, over: Parameters<typeof pending>[0] = {}) => pending({ number, ...over })

describe("the queue of a lane", () => {
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

  it("what the providers of a relayer say holds its rows, and those of relayers with the same providers", () => {
    const rows = [row(1), row(2, { relayerNumber: 2 }), row(3, { relayerNumber: 3 })]
    const ofProviders = (over: object) =>
      candidates(rows).map((candidate, index) => ({
        ...candidate,
        providers: index === 2 ? "other ones" : "of the first",
        ...(index === 2 ? {} : over)
      }))
    const away = { _tag: "Unreachable", code: "providers_unavailable", retryAt: now + 9 } as const
    for (const over of [
      { view: away },
      { view: seen({ balance: 0n }) },
      { doubt: { ownStop: cause("nonce_unexplained", { nonce: 5, count: 6 }) } },
      { doubt: { unsettledBefore: now + 1 } }
    ]) {
      const { signings } = plan(ofProviders(over), base(), totalsOf([], {}), now, 32)
      assert.isTrue(signings.some(({ transaction }) => transaction.number === 3))
      assert.isFalse(signings.some(({ transaction }) => transaction.number < 3))
    }
    const { decided } = plan(ofProviders({ view: away }), base(), totalsOf([], {}), now, 32)
    assert.deepStrictEqual(
      decided.map(({ transaction, commands }) => [transaction.number, summary(commands)]),
      [[1, "Hold providers providers_unavailable"]]
    )
  })

  it("reserved funds hold the lane; what the balance alone cannot pay, or a relayer's own minimum, only its relayer", () => {
    const half = [row(1, { versions: [request({ value: ether / 2n })] }), row(2, { relayerNumber: 2 })]
    const reserved = { ...totalsOf([], {}), reserved: (ether * 3n) / 4n }
    assert.deepStrictEqual(plan(candidates(half), base(), reserved, now, 32).signings, [])
    const rows = [row(1, { versions: [request({ value: ether })] }), row(2, { relayerNumber: 2 })]
    assert.deepStrictEqual(numbersOf(rows), [[2, 5]])
    const own = [
      { transaction: row(1), terms: terms({ minBalance: ether }), view: seen(), providers: "of the network" },
      ...candidates([row(2, { relayerNumber: 2 })])
    ]
    const { signings } = plan(own, base(), totalsOf([], {}), now, 32)
    assert.deepStrictEqual(
      signings.map(({ transaction }) => transaction.number),
      [2]
    )
  })

  it("the balance pays for each signature of a commit, and the window has room for each", () => {
    const more = { versions: [request({ value: (ether * 3n) / 5n })] as const }
    assert.deepStrictEqual(numbersOf([row(1, more), row(2, { ...more, relayerNumber: 2 })]), [[1, 5]])
    const { windowSize } = base().lane
    const many = Array.from({ length: windowSize + 1 }, (_, index) => row(index + 1))
    const signed = numbersOf(many, undefined, seen(), windowSize + 1)
    assert.deepStrictEqual(
      signed.map(([number]) => number),
      many.slice(0, windowSize).map(({ number }) => number)
    )
  })

  it("later, cheaper ones of a relayer that is short do not overtake", () => {
    const view = seen({ balance: ether / 2n })
    const rows = [row(1, { versions: [request({ value: ether })] }), row(2)]
    assert.deepStrictEqual(numbersOf(rows, undefined, view), [])
  })

  const estimated = { versions: [{ to: "0x01", value: 1n }] as const }
  const gone = lane().lane.address
  /** What one transaction waits for, or ends with, because of itself, its call or its API key. */
  const ofOne: Readonly<Record<string, readonly [string, Partial<ReturnType<typeof candidates>[number]>, object?]>> = {
    "the spent limit of its API key": ["Hold transaction gas_price_above_cap", { terms: terms({ feeLimit: 1n }) }],
    "a call that no node estimates": [
      "Hold transaction call_not_estimated",
      { view: seen({ estimate: { _tag: "Refused", words: "VM error" } }) },
      estimated
    ],
    "a call without an answer to its estimate for 15 s": [
      "Hold transaction call_not_estimated",
      { view: seen({ estimate: { _tag: "Unknown" } }) },
      { ...estimated, cause: cause("providers_unavailable"), causeSince: now - 15_000 }
    ],
    "a call that reverts at one provider of two for 15 s": [
      "Hold transaction call_not_estimated",
      { view: seen({ estimate: { _tag: "Reverts", second: "differs" } }) },
      { ...estimated, cause: cause("providers_unavailable"), causeSince: now - 15_000 }
    ],
    "a call that reverts": [
      "Finish failed would_revert",
      { view: seen({ estimate: { _tag: "Reverts", second: "agrees" } }) },
      estimated
    ],
    "fees that it gives, below the base fee": [
      "Hold transaction gas_price_below_base_fee",
      {},
      { versions: [request({ gas_price: 1n })] }
    ],
    "data for the own address, which has code": [
      "Finish failed own_account_has_code",
      { view: seen({ hasCode: true }) },
      { versions: [request({ to: gone, data: "0x01" })] }
    ],
    "gas above that of a block": [
      "Finish failed gas_limit_above_block",
      { view: seen({ head: { number: 100, hash: "h", gasLimit: 30_000n } }) },
      { versions: [request({ gas_limit: 30_001n })] }
    ],
    "a policy that forbids it": ["Finish failed policy_changed", { terms: terms({ isAllowed: false }) }],
    "a nonce that it requires": ["Hold transaction waits_for_predecessors", {}, { requiredNonce: 9 }],
    "its beginning": ["Hold transaction not_before", {}, { notBefore: now + 1, createdAt: now - 9 }],
    "an operator's answer about it": ["Hold transaction restored_unproven", {}, { restored: true }]
  }

  for (const [what, [expected, over, fields = {}]] of Object.entries(ofOne)) {
    it(`${what} holds it alone: later ones of its relayer and of others pass`, () => {
      const [first, ...later] = candidates([row(1, fields), row(2), row(3, { relayerNumber: 2 })])
      if (first === undefined) return assert.fail("no row")
      const { decided, signings } = plan([{ ...first, ...over }, ...later], base(), totalsOf([], {}), now, 32)
      assert.deepStrictEqual(
        decided.map(({ transaction, commands }) => [transaction.number, summary(commands)]),
        [[1, expected]]
      )
      assert.deepStrictEqual(
        signings.map(({ transaction }) => transaction.number),
        [2, 3]
      )
    })
  }

  it("the cap of a relayer holds its later ones, whatever limits their API keys have", () => {
    const capped = candidates([row(1), row(2), row(3, { relayerNumber: 2 })]).map((candidate, index) => ({
      ...candidate,
      terms: index === 2 ? terms() : terms({ cap: 1n })
    }))
    const { signings } = plan(capped, base(), totalsOf([], {}), now, 32)
    assert.deepStrictEqual(
      signings.map(({ transaction }) => transaction.number),
      [3]
    )
  })

  it("a relayer that is held holds its own later ones", () => {
    const held = terms({ minBalance: ether / 2n })
    const rows = [row(1, { versions: [request({ value: ether / 2n })] }), row(2), row(3, { relayerNumber: 2 })]
    const all = rows.map((transaction) => ({
      transaction,
      terms: transaction.relayerNumber === 1 ? held : terms(),
      view: seen(),
      providers: "of the network"
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

describe("a pending transaction", () => {
  it("is checked again at its deadline", () => {
    const held = lane({ others: { ...lane().others, inFlight: 16 } })
    assert.strictEqual(only(commandsOf(pending({ validUntil: now + 10 }), held), "PollAt").at, now + 10)
  })
})
