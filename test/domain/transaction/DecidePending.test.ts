// Each decision about a transaction without a nonce, in the order of its table.
import { assert, describe, it } from "@effect/vitest"
import { cause } from "../../../src/domain/transaction/Cause.ts"
import { maxFeeOf } from "../../../src/domain/transaction/Fees.ts"
import type { Transaction } from "../../../src/domain/transaction/Transaction.ts"
import type { Seen } from "../../../src/domain/transaction/View.ts"
import { decisions } from "./DecisionTable.ts"
import type { Case } from "./DecisionTable.ts"
import {
  commandsOf,
  ether,
  gwei,
  hour,
  lane,
  network,
  now,
  only,
  others,
  pending,
  request,
  seen,
  terms
} from "./Fixtures.ts"

const simulated = pending({ versions: [{ to: "0x01", value: 1n }] })
const reverts = (second: "agrees" | "differs" | "not_configured"): Seen =>
  seen({ estimate: { _tag: "Reverts", second, reason: "no" } })
const poor = seen({ balance: 1n })
const short = cause("insufficient_funds")
const quiet = (since: number) => lane({ others: others({ quietSince: since }) })
const minute = 60_000
const { balance: _, ...withoutBalance } = seen()

const waiting: ReadonlyArray<Case> = [
  [
    "restored, also if canceled and late",
    "Hold transaction restored_unproven",
    pending({ restored: true, intent: "cancel", validUntil: 0 })
  ],
  ["to be canceled", "Finish canceled canceled", pending({ intent: "cancel" })],
  ["to be expired", "Finish expired deadline_passed", pending({ intent: "expire" })],
  ["to be cleared", "Finish failed refused_by_all", pending({ intent: "clear", clearCode: "refused_by_all" })],
  ["at its deadline", "Finish expired deadline_passed", pending({ validUntil: now })],
  ["not allowed any more", "Finish failed policy_changed", pending(), lane({ terms: terms({ isAllowed: false }) })],
  ["in a lane that is stopped", "Hold lane nonce_ahead", pending(), lane({ stop: cause("nonce_ahead") })],
  [
    "in a lane without nonces",
    "Hold lane nonce_out_of_range",
    pending(),
    lane({ lane: { ...lane().lane, nextNonce: Number.MAX_SAFE_INTEGER } })
  ],
  ["of a paused relayer", "Hold relayer relayer_paused", pending(), lane({ terms: terms({ isPaused: true }) })],
  [
    "of a disabled relayer",
    "Hold relayer relayer_disabled",
    pending(),
    lane({ terms: terms({ disabled: "relayer_disabled" }) })
  ],
  [
    "of a relayer on another chain",
    "Hold relayer chain_changed",
    pending(),
    lane({ terms: terms({ disabled: "chain_changed" }) })
  ],
  ["too early", "Hold transaction not_before", pending({ notBefore: now + 1 })],
  ["that requires a nonce that is used", "Finish failed nonce_unavailable", pending({ requiredNonce: 4 })],
  [
    "that requires a later nonce, at first",
    "Hold transaction waits_for_predecessors",
    pending({ requiredNonce: 6 }),
    undefined,
    undefined,
    now + 14_999
  ],
  [
    "that requires a later nonce, after the grace",
    "Finish failed nonce_unavailable",
    pending({ requiredNonce: 6 }),
    undefined,
    undefined,
    now + 15_000
  ],
  [
    "that requires a later nonce while others are pending",
    "Hold transaction waits_for_predecessors",
    pending({ requiredNonce: 6 }),
    lane({ others: others({ isPendingBefore: true }) }),
    undefined,
    now + hour
  ],
  [
    "that requires a later nonce after one was given",
    "Hold transaction waits_for_predecessors",
    pending({ requiredNonce: 6 }),
    lane({ others: others({ lastSignedAt: now + hour }) }),
    undefined,
    now + hour + 14_999
  ],
  [
    "without providers",
    "Hold lane providers_unavailable",
    pending(),
    undefined,
    { _tag: "Unreachable", code: "providers_unavailable", retryAt: now + 9 }
  ],
  [
    "with rate-limited providers",
    "Hold lane rate_limited",
    pending(),
    undefined,
    { _tag: "Unreachable", code: "rate_limited", retryAt: now + 9 }
  ],
  [
    "without a signer",
    "Hold lane signer_unavailable",
    pending(),
    lane({ signerRetry: { code: "signer_unavailable", at: now + 9 } })
  ],
  ["behind a full window", "Hold lane lane_window_full", pending(), lane({ others: others({ inFlight: 16 }) })],
  [
    "with a cap below the base fee",
    "Hold relayer gas_price_above_cap",
    pending(),
    lane({ terms: terms({ cap: gwei - 1n }) })
  ],
  [
    "with a limit of its API key below the base fee",
    "Hold relayer gas_price_above_cap",
    pending(),
    lane({ terms: terms({ feeLimit: 21_000n * gwei - 1n }) })
  ],
  ["with an unknown balance", "Hold lane providers_unavailable", pending(), undefined, withoutBalance],
  [
    "that could not be estimated",
    "Hold relayer providers_unavailable",
    simulated,
    undefined,
    seen({ estimate: { _tag: "Unknown" } })
  ],
  ["short of funds", "Hold lane insufficient_funds", pending(), undefined, poor],
  [
    "short of funds for ten minutes in a quiet lane",
    "Finish failed insufficient_funds",
    pending({ cause: short }),
    quiet(now),
    poor,
    now + 10 * minute
  ],
  [
    "short of funds for less",
    "Hold lane insufficient_funds",
    pending({ cause: short }),
    quiet(now),
    poor,
    now + 10 * minute - 1
  ],
  [
    "short of funds in a lane that was busy until now",
    "Hold lane insufficient_funds",
    pending({ cause: short }),
    quiet(now + 10 * minute),
    poor,
    now + 10 * minute
  ],
  [
    "short of funds in a busy lane",
    "Hold lane insufficient_funds",
    pending({ cause: short }),
    lane({ others: others({ inFlight: 1 }) }),
    poor,
    now + hour
  ],
  [
    "short of funds, but it waits until its deadline",
    "Hold lane insufficient_funds",
    pending({ cause: short, versions: [request({ wait_for_funds: true })] }),
    quiet(now),
    poor,
    now + hour
  ],
  [
    "short of its relayer's minimum only",
    "Hold relayer insufficient_funds",
    pending(),
    lane({ terms: terms({ minBalance: ether }) })
  ],
  [
    "that the node calls unaffordable",
    "Hold lane insufficient_funds",
    simulated,
    undefined,
    seen({ estimate: { _tag: "Unaffordable" } })
  ],
  [
    "that reverts behind one in flight",
    "Hold relayer waits_for_predecessors",
    simulated,
    lane({ others: others({ inFlight: 1 }) }),
    reverts("agrees")
  ],
  ["that reverts at both providers", "Finish failed would_revert", simulated, undefined, reverts("agrees")],
  ["that reverts at the only provider", "Finish failed would_revert", simulated, undefined, reverts("not_configured")],
  [
    "that reverts at one provider of two",
    "Hold relayer providers_unavailable",
    simulated,
    undefined,
    reverts("differs")
  ],
  ["that would revert, but is not simulated", "Sign original sending", pending(), undefined, reverts("agrees")],
  [
    "that reverts although it has a gas limit, and is simulated",
    "Finish failed would_revert",
    pending({ versions: [request({ simulate: true })] }),
    undefined,
    reverts("agrees")
  ],
  ["with exactly the required nonce", "Sign original sending", pending({ requiredNonce: 5 })],
  ["that nothing holds", "Sign original sending", pending()]
]

describe("a pending transaction", () => {
  decisions(waiting)

  it("is checked again no later than its own moments", () => {
    const held = lane({ terms: terms({ isPaused: true }) })
    const at = (transaction: Transaction) => only(commandsOf(transaction, held), "PollAt").at
    assert.strictEqual(at(pending()), now + 2000)
    assert.strictEqual(at(pending({ validUntil: now + 1500 })), now + 1500)
    assert.strictEqual(at(pending({ notBefore: now + 700 })), now + 700)
    assert.strictEqual(only(commandsOf(pending({ notBefore: now + hour })), "PollAt").at, now + hour)
  })

  it("gets the price of its speed within the cap, and the given fees as they are", () => {
    const signed = (over: Partial<Transaction>, cap?: bigint) =>
      only(commandsOf(pending(over), lane({ terms: terms(cap === undefined ? {} : { cap }) })), "Sign")
    assert.deepStrictEqual(signed({}).fees, { type: "eip1559", maxFee: 2n * gwei + 3n, tip: 3n })
    assert.strictEqual(maxFeeOf(signed({}, gwei + 1n).fees), gwei + 1n)
    const given = { versions: [request({ gas_price: 7n * gwei })] as const }
    assert.deepStrictEqual(signed(given).fees, { type: "legacy", gasPrice: 7n * gwei })
    assert.deepStrictEqual(signed(given, 6n * gwei).fees, { type: "legacy", gasPrice: 6n * gwei })
  })

  it("gets the gas of its estimate with a margin, within the caps of block and network", () => {
    const gas = (over: Partial<Seen>, situation = lane()) =>
      only(commandsOf(simulated, situation, seen({ estimate: { _tag: "Gas", gas: 100_000n }, ...over })), "Sign")
        .gasLimit
    assert.strictEqual(gas({}), 120_000n)
    assert.strictEqual(gas({ head: { number: 100, hash: "h", gasLimit: 110_000n } }), 110_000n)
    assert.strictEqual(gas({}, lane({ network: { ...network, transactionGasCap: 105_000n } })), 105_000n)
  })
})
