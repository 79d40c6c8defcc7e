// The decisions about a transaction without a nonce, in the order of their table, as far as they are about prices, funds and gas.
import { assert, describe, it } from "@effect/vitest"
import { cause } from "../../../../src/networks/core/Cause.ts"
import type { Transaction } from "../../../../src/networks/core/Transaction.ts"
import type { Evm, Seen } from "../../../../src/networks/evm/rules/Evm.ts"
import { maxFeeOf } from "../../../../src/networks/evm/rules/Market.ts"
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
const notEstimated = seen({ estimate: { _tag: "Refused", words: "no" } })
const unanswered = seen({ estimate: { _tag: "Unknown" } })
const silent = pending({ versions: [{ to: "0x01", value: 1n }], cause: cause("providers_unavailable") })
const refusedEstimate = pending({ versions: [{ to: "0x01", value: 1n }], cause: cause("call_not_estimated") })
const withOwnLimit = pending({ versions: [request({ to: "0x01", gas_limit: 50_000n, simulate: true })] })
const uses = (gas: bigint): Seen => seen({ estimate: { _tag: "Gas", gas } })
const above = uses(50_001n)
const own = lane().lane.address
const poor = seen({ balance: 1n })
const short = cause("insufficient_funds")
const quiet = (since: number) => lane({ others: others({ quietSince: since }) })
const minute = 60_000
const { balance: _, ...withoutBalance } = seen()

const costs: ReadonlyArray<Case> = [
  [
    "with a cap below the base fee",
    "Hold relayer gas_price_above_cap",
    pending(),
    lane({ terms: terms({ cap: gwei - 1n }) })
  ],
  [
    "with a limit of its API key below the base fee",
    "Hold transaction gas_price_above_cap",
    pending(),
    lane({ terms: terms({ feeLimit: 21_000n * gwei - 1n }) })
  ],
  ["with an unknown balance", "Hold providers providers_unavailable", pending(), undefined, withoutBalance],
  [
    "that could not be estimated",
    "Hold relayer providers_unavailable",
    simulated,
    undefined,
    seen({ estimate: { _tag: "Unknown" } })
  ],
  [
    "without an answer to its estimate, for less than 15 s",
    "Hold relayer providers_unavailable",
    silent,
    undefined,
    unanswered,
    now + 14_999
  ],
  [
    "without an answer to its estimate, for 15 s",
    "Hold transaction call_not_estimated",
    silent,
    undefined,
    unanswered,
    now + 15_000
  ],
  ["that a node refuses to estimate", "Hold transaction call_not_estimated", simulated, undefined, notEstimated],
  [
    "that a node refuses to estimate for less than ten minutes, in a busy lane",
    "Hold transaction call_not_estimated",
    refusedEstimate,
    lane({ others: others({ inFlight: 1 }) }),
    notEstimated,
    now + 10 * minute - 1
  ],
  [
    "that a node refuses to estimate for ten minutes, in a busy lane",
    "Finish failed call_not_estimated",
    refusedEstimate,
    lane({ others: others({ inFlight: 1 }) }),
    notEstimated,
    now + 10 * minute
  ],
  [
    "that no node estimates for ten minutes, at last because none answers",
    "Finish failed call_not_estimated",
    refusedEstimate,
    undefined,
    unanswered,
    now + 10 * minute
  ],
  ["whose estimate is its own limit", "Sign original sending", withOwnLimit, undefined, uses(50_000n)],
  ["whose estimate is above its own limit", "Finish failed gas_limit_below_estimate", withOwnLimit, undefined, above],
  [
    "whose estimate is above its own limit, in a busy lane",
    "Finish failed gas_limit_below_estimate",
    withOwnLimit,
    lane({ others: others({ inFlight: 1 }) }),
    above
  ],
  [
    "whose estimate is above its own limit, and that was not to be estimated",
    "Sign original sending",
    pending({ versions: [request({ to: "0x01", gas_limit: 50_000n, simulate: false })] }),
    undefined,
    above
  ],
  ["that a node refuses to estimate, with its gas given", "Sign original sending", pending(), undefined, notEstimated],
  [
    "that a node refuses to estimate, and that the balance cannot pay",
    "Hold relayer insufficient_funds",
    simulated,
    undefined,
    { ...notEstimated, balance: 1n }
  ],
  [
    "whose data is not priced, with its gas given",
    "Hold relayer providers_unavailable",
    pending({ cause: cause("providers_unavailable") }),
    undefined,
    unanswered,
    now + hour
  ],
  [
    "behind one that every node refuses in unknown words",
    "Hold lane lane_window_full",
    pending(),
    lane({ others: { ...others({ inFlight: 1 }), survey: { urgency: "safeLow", open: 2, isRefused: true } } })
  ],
  ["short of funds", "Hold relayer insufficient_funds", pending(), undefined, poor],
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
    "Hold relayer insufficient_funds",
    pending({ cause: short }),
    quiet(now),
    poor,
    now + 10 * minute - 1
  ],
  [
    "short of funds in a lane that was busy until now",
    "Hold relayer insufficient_funds",
    pending({ cause: short }),
    quiet(now + 10 * minute),
    poor,
    now + 10 * minute
  ],
  [
    "short of funds in a busy lane",
    "Hold relayer insufficient_funds",
    pending({ cause: short }),
    lane({ others: others({ inFlight: 1 }) }),
    poor,
    now + hour
  ],
  [
    "short of funds, but it waits until its deadline",
    "Hold relayer insufficient_funds",
    pending({ cause: short, versions: [request({ wait_for_funds: true })] }),
    quiet(now),
    poor,
    now + hour
  ],
  [
    "short of funds for a top-up, which holds nothing of its payer",
    "Finish failed insufficient_funds",
    pending({ versions: [request({ fails_without_funds: true })] }),
    lane({ others: others({ inFlight: 1 }) }),
    poor
  ],
  [
    "short of its relayer's minimum only",
    "Hold relayer insufficient_funds",
    pending(),
    lane({ terms: terms({ minBalance: ether }) })
  ],
  [
    "that the node calls unaffordable",
    "Hold providers insufficient_funds",
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
  [
    "that reverts at one provider of two for 15 s",
    "Hold transaction call_not_estimated",
    silent,
    undefined,
    reverts("differs"),
    now + 15_000
  ],
  [
    "with data for the own address, of an account with code",
    "Finish failed own_account_has_code",
    pending({ versions: [request({ to: own, data: "0x01" })] }),
    undefined,
    seen({ hasCode: true })
  ],
  [
    "with data for the own address, of an account without code",
    "Sign original sending",
    pending({ versions: [request({ to: own, data: "0x01" })] })
  ],
  [
    "to the own address without data, of an account with code",
    "Sign original sending",
    pending({ versions: [request({ to: own, data: "0x" })] }),
    undefined,
    seen({ hasCode: true })
  ],
  [
    "with data for another address, of an account with code",
    "Sign original sending",
    pending({ versions: [request({ data: "0x01" })] }),
    undefined,
    seen({ hasCode: true })
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
  decisions(costs)

  it("gets the price of its speed within the cap, and the given fees as they are", () => {
    const signed = (over: Partial<Transaction<Evm>>, cap?: bigint) =>
      only(commandsOf(pending(over), lane({ terms: terms(cap === undefined ? {} : { cap }) })), "Sign")
    assert.deepStrictEqual(signed({}).offer.fees, { type: "eip1559", maxFee: 2n * gwei + 3n, tip: 3n })
    assert.strictEqual(maxFeeOf(signed({}, gwei + 1n).offer.fees), gwei + 1n)
    const given = { versions: [request({ gas_price: 7n * gwei })] as const }
    assert.deepStrictEqual(signed(given).offer.fees, { type: "legacy", gasPrice: 7n * gwei })
    assert.deepStrictEqual(signed(given, 6n * gwei).offer.fees, { type: "legacy", gasPrice: 6n * gwei })
  })

  it("gets the gas of its estimate with a margin, within the caps of block and network", () => {
    const gas = (over: Partial<Seen>, situation = lane()) =>
      only(commandsOf(simulated, situation, seen({ estimate: { _tag: "Gas", gas: 100_000n }, ...over })), "Sign").offer
        .gasLimit
    assert.strictEqual(gas({}), 120_000n)
    assert.strictEqual(gas({ head: { number: 100, hash: "h", gasLimit: 110_000n } }), 110_000n)
    assert.strictEqual(
      gas({}, lane({ terms: terms({ network: { ...network, transactionGasCap: 105_000n } }) })),
      105_000n
    )
  })
})
