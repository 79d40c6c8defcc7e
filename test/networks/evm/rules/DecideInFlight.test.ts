// Each decision about a transaction that has a nonce and no receipt, in the order of its table.
import { assert, describe, it } from "@effect/vitest"
import { cause } from "../../../../src/networks/core/Cause.ts"
import type { Attempt } from "../../../../src/networks/core/Transaction.ts"
import { evmReservationOf } from "../../../../src/networks/evm/rules/Costs.ts"
import type { Evm, Seen } from "../../../../src/networks/evm/rules/Evm.ts"
import { decisions, later, noop, summary, unsent } from "./DecisionTable.ts"
import type { Case } from "./DecisionTable.ts"
import {
  attempt,
  commandsOf,
  gwei,
  lane,
  network,
  now,
  only,
  others,
  receiptIn,
  request,
  seen,
  submitted,
  tagsOf,
  terms
} from "./Fixtures.ts"

const sight = (ordinal: number, of: NonNullable<ReturnType<Seen["sights"]["get"]>>): Pick<Seen, "sights"> => ({
  sights: new Map([[ordinal, of]])
})
const withReceipt = (ordinal: number, isSuccess = true): Seen =>
  seen({ count: 6, ...sight(ordinal, { _tag: "Receipt", receipt: receiptIn(100, { isSuccess }) }) })
const aboveMarket: Partial<Seen> = {
  market: { baseFee: 20n * gwei, tips: { safeLow: 1n, average: 2n, fast: 3n, fastest: 4n } }
}
const tipsAbove = {
  baseFee: gwei,
  tips: { safeLow: 9n * gwei, average: 9n * gwei, fast: 9n * gwei, fastest: 9n * gwei }
}
/** Refused so often in a row in unknown words. */
const unexplained = (times: number): Attempt<Evm> =>
  attempt(1, { outcome: "refused", refusal: { class: "unknown", words: "no", times } })
const refused = (over: Partial<Attempt<Evm>["refusal"] & object>, ordinal = 1): Attempt<Evm> =>
  attempt(ordinal, { outcome: "refused", refusal: { class: "price", ...over } })

const flying: ReadonlyArray<Case> = [
  ["on another chain", "Hold transaction chain_changed", submitted(), lane({ stop: cause("chain_changed") })],
  [
    "without providers",
    "Hold transaction providers_unavailable",
    submitted(),
    undefined,
    { _tag: "Unreachable", code: "providers_unavailable", retryAt: now + 9 }
  ],
  ["with a receipt", "Mine mined mined_waiting", submitted(), undefined, withReceipt(1)],
  [
    "with a receipt of an older attempt",
    "Mine mined mined_waiting",
    submitted({ attempts: [attempt(1), attempt(2)] }),
    undefined,
    withReceipt(1)
  ],
  ["with a reverted receipt", "Mine submitted reverted_unconfirmed", submitted(), undefined, withReceipt(1, false)],
  [
    "with a reverted receipt that used all gas",
    "Ask none",
    submitted(),
    undefined,
    seen({
      count: 6,
      ...sight(1, { _tag: "Receipt", receipt: receiptIn(100, { isSuccess: false, gasUsed: 21_000n }) })
    })
  ],
  [
    "with a receipt after its deadline",
    "Mine mined mined_waiting",
    submitted({ validUntil: 0 }),
    undefined,
    withReceipt(1)
  ],
  ["whose nonce is used, in a block that is not deep", "PollAt none", submitted(), undefined, seen({ count: 6 })],
  ["whose nonce is used, in a deep block", "Ask none", submitted(), undefined, seen({ count: 6, countAtFinal: 6 })],
  ["to be canceled", "Sign noop canceling", submitted({ intent: "cancel" })],
  ["to be expired", "Sign noop expiring", submitted({ intent: "expire" })],
  ["to be cleared", "Sign noop policy_changed", submitted({ intent: "clear", clearCode: "policy_changed" })],
  ["at its deadline", "Intend expire expiring", submitted({ validUntil: now })],
  ["canceled, and then late", "Sign noop canceling", submitted({ intent: "cancel", validUntil: now })],
  ["with a newer version", "Sign replace sending", submitted({ versions: [request(), request({ value: 2n })] })],
  [
    "with a newer version that policy forbids",
    "Intend clear policy_changed",
    submitted({ versions: [request(), request()] }),
    lane({ terms: terms({ isAllowed: false }) })
  ],
  ["at the head, patient", "Hold transaction in_pool", submitted(), undefined, later(3, aboveMarket), now + 8000],
  [
    "at the head, below the market",
    "Sign bump underpriced_bumping",
    submitted(),
    undefined,
    later(4, aboveMarket),
    now + 8000
  ],
  ["at the head, above the market", "Hold transaction in_pool", submitted(), undefined, later(4), now + 8000],
  [
    "at the head, above the market for long",
    "Sign bump underpriced_bumping",
    submitted(),
    undefined,
    later(12),
    now + 24_000
  ],
  [
    "behind the head, for long",
    "Hold transaction in_pool",
    submitted(),
    undefined,
    later(12, { count: 4 }),
    now + 24_000
  ],
  [
    "at the head, urgent behind",
    "Sign bump underpriced_bumping",
    submitted(),
    lane({ others: others({ urgency: "fastest" }) }),
    later(2, aboveMarket),
    now + 8000
  ],
  [
    "at the head, late, but policy forbids a bump",
    "Intend clear policy_changed",
    submitted(),
    lane({ terms: terms({ isAllowed: false }) }),
    later(12),
    now + 24_000
  ],
  ["underpriced for a node", "Sign bump underpriced_bumping", submitted({ attempts: [refused({ class: "bump" })] })],
  [
    "a no-op, late",
    "Sign noop canceling",
    submitted({ intent: "cancel", attempts: [attempt(1), noop(2)] }),
    undefined,
    later(12),
    now + 24_000
  ],
  ["signed and never sent", "Broadcast sending", submitted({ state: "signed", attempts: [unsent(attempt(1))] })],
  [
    "signed, sent, outcome unknown",
    "Hold transaction sending",
    submitted({ state: "signed", attempts: [attempt(1, { outcome: "unknown" })] }),
    undefined,
    undefined,
    now + 999
  ],
  [
    "signed, sent, outcome unknown for a second",
    "Broadcast sending",
    submitted({ state: "signed", attempts: [attempt(1, { outcome: "unknown" })] }),
    undefined,
    undefined,
    now + 1000
  ],
  [
    "absent in one poll",
    "Hold transaction in_pool",
    submitted(),
    undefined,
    seen(sight(1, { _tag: "Absent", polls: 1 }))
  ],
  [
    "absent in two polls",
    "Broadcast not_in_pool_rebroadcast",
    submitted(),
    undefined,
    seen(sight(1, { _tag: "Absent", polls: 2 }))
  ],
  [
    "missed after one acceptance, late at the head: not too cheap",
    "Broadcast not_in_pool_rebroadcast",
    submitted(),
    undefined,
    later(12, sight(1, { _tag: "Absent", polls: 2, drops: 1 })),
    now + 24_000
  ],
  [
    "sent again after it was missed, late at the head: not too cheap",
    "Hold transaction in_pool",
    submitted(),
    undefined,
    later(12, sight(1, { _tag: "Absent", polls: 0, drops: 1 })),
    now + 24_000
  ],
  [
    "missed after two acceptances, late at the head",
    "Broadcast dropped_by_node",
    submitted({ attempts: [attempt(1, { sends: 2 })] }),
    undefined,
    later(12, sight(1, { _tag: "Absent", polls: 2, drops: 2 })),
    now + 24_000
  ],
  [
    "missed after two acceptances, below the market, patient",
    "Broadcast not_in_pool_rebroadcast",
    submitted({ attempts: [attempt(1, { sends: 2 })] }),
    undefined,
    later(3, { ...sight(1, { _tag: "Absent", polls: 2, drops: 2 }), market: tipsAbove }),
    now + 8000
  ],
  [
    "missed after two acceptances, and below the tips that blocks ask for",
    "Sign bump underpriced_bumping",
    submitted({ attempts: [attempt(1, { sends: 2 })] }),
    undefined,
    later(4, { ...sight(1, { _tag: "Absent", polls: 2, drops: 2 }), market: tipsAbove }),
    now + 8000
  ],
  [
    "missed, and below the base fee",
    "Sign bump underpriced_bumping",
    submitted(),
    undefined,
    later(12, { ...sight(1, { _tag: "Absent", polls: 2, drops: 2 }), ...aboveMarket }),
    now + 24_000
  ],
  [
    "found again, patient since then",
    "Hold transaction in_pool",
    submitted(),
    undefined,
    later(12, sight(1, { _tag: "InPool", missed: { at: now + 4000, height: 102 } })),
    now + 24_000
  ],
  [
    "found again, late since then",
    "Sign bump underpriced_bumping",
    submitted(),
    undefined,
    later(12, sight(1, { _tag: "InPool", missed: { at: now + 6000, height: 100 } })),
    now + 24_000
  ],
  [
    "refused twice in unknown words",
    "Hold transaction in_pool",
    submitted({ attempts: [unexplained(2)] }),
    undefined,
    undefined,
    now + 999
  ],
  [
    "refused three times in unknown words, late at the head",
    "Broadcast refused_in_unknown_words",
    submitted({ attempts: [unexplained(3)] }),
    undefined,
    later(12, { market: tipsAbove }),
    now + 24_000
  ],
  [
    "refused three times in unknown words, and below the base fee",
    "Sign bump underpriced_bumping",
    submitted({ attempts: [unexplained(3)] }),
    undefined,
    later(4, aboveMarket),
    now + 8000
  ],
  [
    "refused in unknown words by one node, while another does not answer, late at the head",
    "Broadcast not_in_pool_rebroadcast",
    submitted({ attempts: [attempt(1, { outcome: "unknown", refusal: { class: "unknown", words: "no" } })] }),
    undefined,
    later(12, { market: tipsAbove }),
    now + 24_000
  ],
  [
    "refused in unknown words and in the pool all the same, late at the head",
    "Sign bump underpriced_bumping",
    submitted({ attempts: [unexplained(3)] }),
    undefined,
    later(12, { ...sight(1, { _tag: "InPool" }), ...aboveMarket }),
    now + 24_000
  ],
  [
    "refused in unknown words, and canceled",
    "Sign noop canceling",
    submitted({ intent: "cancel", attempts: [unexplained(3)] })
  ],
  [
    "with a newer version that calls the code of its own account",
    "Intend clear own_account_has_code",
    submitted({ versions: [request(), request({ to: lane().lane.address, data: "0x01" })] }),
    undefined,
    seen({ hasCode: true })
  ],
  [
    "below the base fee by the limit of its API key, with others behind",
    "Intend clear yielding",
    submitted(),
    lane({ others: others({ inFlight: 2 }), terms: terms({ feeLimit: 21_000n * 11n * gwei }) }),
    later(12, aboveMarket),
    now + 24_000
  ],
  [
    "below the base fee by the cap of its relayer, with others behind",
    "Hold transaction below_base_fee",
    submitted(),
    lane({ others: others({ inFlight: 2 }), terms: terms({ cap: 11n * gwei }) }),
    later(12, aboveMarket),
    now + 24_000
  ],
  [
    "sent 30 s ago",
    "Broadcast not_in_pool_rebroadcast",
    submitted(),
    undefined,
    seen(sight(1, { _tag: "InPool" })),
    now + 30_000
  ],
  [
    "refused for funds, in the next block",
    "Broadcast insufficient_funds",
    submitted({ attempts: [refused({ class: "funds" })] }),
    undefined,
    undefined,
    now + 2000
  ],
  [
    "behind a deep reorganisation",
    "Hold transaction deep_reorg",
    submitted(),
    lane({ isDeepReorg: true }),
    seen({ count: 4 })
  ],
  ["that nothing applies to", "Hold transaction in_pool", submitted()]
]

describe("a transaction in flight", () => {
  decisions(flying)

  it("that a node refuses for funds says how much it needs and how much there is", () => {
    const transaction = submitted({ attempts: [refused({ class: "funds" })] })
    const shared = lane({ others: others({ reserved: 100n }) })
    const funds = (view: Partial<Seen>) => only(commandsOf(transaction, shared, seen(view)), "Hold").cause.figures
    const required = evmReservationOf(transaction)
    assert.isAbove(Number(required), 0)
    assert.deepStrictEqual(funds({ balance: 140n }), { required, available: 40n, reserved: 100n, minimum: 0n })
    assert.deepStrictEqual(funds({ balance: 7n }), { required, available: 0n, reserved: 100n, minimum: 0n })
  })

  it("on a chain without a mempool is sent again only after its predecessors", () => {
    const transaction = submitted({ state: "signed", attempts: [unsent(attempt(1))] })
    const chain = { ...network, hasMempool: false }
    const behind = lane({ terms: terms({ network: chain }), others: others({ arePredecessorsAccepted: false }) })
    assert.notInclude(tagsOf(commandsOf(transaction, behind)), "Broadcast")
    assert.include(tagsOf(commandsOf(transaction, lane({ terms: terms({ network: chain }) }))), "Broadcast")
  })

  it("is bumped at once three times after a node called it underpriced, and then waits for its patience", () => {
    const attempts = [1, 2, 3].map((ordinal) => refused({ class: "bump" }, ordinal))
    assert.strictEqual(summary(commandsOf(submitted({ attempts }))), "Sign bump underpriced_bumping")
    const fourth = [...attempts, refused({ class: "bump" }, 4)]
    assert.strictEqual(summary(commandsOf(submitted({ attempts: fourth }))), "Hold transaction underpriced_bumping")
  })

  it("that nodes refuse for good is not raised, and a former version of its request is sent as well", () => {
    const newer = { ...refused({ class: "permanent" }, 2), requestVersion: 2 }
    const versions = [request(), request({ value: 2n })] as const
    const transaction = submitted({ versions, attempts: [attempt(1), newer] })
    const commands = commandsOf(transaction, lane(), seen(aboveMarket), now + 600_000)
    assert.deepStrictEqual(only(commands, "Broadcast").ordinals, [2, 1])
    assert.strictEqual(only(commands, "Hold").cause.code, "not_in_pool_rebroadcast")
  })

  it("is raised to the price that the node names", () => {
    const needed = 50n * gwei
    const transaction = submitted({ attempts: [refused({ class: "price", minimumNeeded: needed })] })
    assert.deepStrictEqual(only(commandsOf(transaction), "Sign").offer.fees, {
      type: "eip1559",
      maxFee: needed,
      tip: needed
    })
  })
})
