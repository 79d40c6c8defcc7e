// Decisions about transactions without bytes, and before each signature, row by row.
import { describe } from "@effect/vitest"
import { cause } from "../../../../src/networks/core/Cause.ts"
import type { Situation } from "../../../../src/networks/core/Rules.ts"
import type { Transaction } from "../../../../src/networks/core/Transaction.ts"
import type { Solana } from "../../../../src/networks/solana/rules/Solana.ts"
import type { Preparation } from "../../../../src/networks/solana/rules/SolanaSeen.ts"
import { attempt, check, now, pending, preparation, seen, situation } from "./Situations.ts"

const prepared = (
  changed: Partial<Preparation>,
  transaction: Partial<Transaction<Solana>> = {},
  more: Parameters<typeof situation>[2] = {}
) => situation({ ...pending, ...transaction }, seen([], { preparation: { ...preparation, ...changed } }), more)

const { balance: _, ...withoutBalance } = preparation
const { hash, offer } = attempt
const hasGiven: Partial<Transaction<Solana>> = { facts: { ...pending.facts, given: { hash, offer } } }
const base = (more: Parameters<typeof situation>[2] = {}): Situation<Solana> => situation(pending, seen([]), more)

describe("a transaction without bytes", () => {
  check([
    ["asks for what a signature needs", base(), "Ask prepare"],
    ["is signed", prepared({}), "Sign original 7000"],
    [
      "is signed with the cap as its fee if the market is above it",
      prepared({ fee: { floor: 5000n, offered: 9000n, cap: 6000n } }),
      "Sign original 6000"
    ],
    ["takes over a signature that was given away", situation({ ...pending, ...hasGiven }, seen([])), "Adopt"],
    [
      "takes over a signature that was given away, although it is canceled",
      situation({ ...pending, ...hasGiven, intent: "cancel" }, seen([])),
      "Adopt"
    ],
    [
      "takes over a signature that was given away, although its deadline has passed",
      situation({ ...pending, ...hasGiven, validUntil: now }, seen([])),
      "Adopt"
    ],
    ["is canceled at once", situation({ ...pending, intent: "cancel" }, seen([])), "Finish canceled canceled"],
    ["expires at its deadline", situation({ ...pending, validUntil: now }, seen([])), "Finish expired deadline_passed"],
    [
      "of a restored ledger waits for the operator, also when it is canceled",
      situation({ ...pending, restored: true, intent: "cancel" }, seen([])),
      "Hold restored_unproven"
    ],
    [
      "fails if the policy does not allow it any more",
      base({ terms: { isAllowed: false } }),
      "Finish failed policy_changed"
    ],
    ["waits while the lane is stopped", base({ stop: cause("chain_changed") }), "Hold chain_changed"],
    ["waits while the relayer is paused", base({ terms: { isPaused: true } }), "Hold relayer_paused"],
    [
      "does not wait for a health check while providers answer",
      base({ terms: { disabled: "providers_unavailable" } }),
      "Ask prepare"
    ],
    ["waits while the relayer is disabled", base({ terms: { disabled: "relayer_disabled" } }), "Hold relayer_disabled"],
    ["waits until its first moment", situation({ ...pending, notBefore: now + 1 }, seen([])), "Hold not_before"],
    ["waits while the window is full", base({ rest: { inFlight: 64 } }), "Hold lane_window_full"],
    ["waits for its signer", base({ signerRetry: { code: "throttled", at: now + 1 } }), "Hold throttled"],
    [
      "waits for providers",
      situation(pending, { _tag: "Unreachable", code: "providers_unavailable", retryAt: now + 1 }),
      "Hold providers_unavailable"
    ],
    ["waits for a blockhash", prepared({ lifetime: "unavailable" }), "Hold blockhash_unavailable"],
    [
      "expires if its own blockhash is dead on arrival",
      prepared({ lifetime: "dead" }, { facts: { isPrebuilt: true, isRefreshable: true } }),
      "Finish expired blockhash_expired"
    ],
    [
      "fails if a lookup table is missing",
      prepared({ accounts: "missing_table" }),
      "Finish failed lookup_table_unresolved"
    ],
    [
      "waits for a lookup table that cannot be read",
      prepared({ accounts: "table_unavailable" }),
      "Hold lookup_table_unavailable"
    ],
    [
      "waits for an account that cannot be read",
      prepared({ accounts: "account_unavailable" }),
      "Hold account_unavailable"
    ],
    ["waits for the price of a token", prepared({ accounts: "price_unavailable" }), "Hold price_unavailable"],
    [
      "fails with the rule that its resolved accounts break",
      prepared({ broken: "account_disallowed" }),
      "Finish failed account_disallowed"
    ],
    [
      "waits while the lowest price is above the cap",
      prepared({ fee: { floor: 7000n, offered: 9000n, cap: 6000n } }),
      "Hold priority_fee_above_cap"
    ],
    ["waits for funds", prepared({ balance: 890_880n + 6999n }), "Hold insufficient_funds"],
    ["leaves the rent of the cluster", prepared({ balance: 650_240n + 7000n, rent: 650_240n }), "Sign original 7000"],
    ["waits for that rent", prepared({ balance: 650_240n + 6999n, rent: 650_240n }), "Hold insufficient_funds"],
    [
      "counts what it spends itself as funds",
      prepared({ balance: 890_880n + 7000n, out: 1n }),
      "Hold insufficient_funds"
    ],
    ["is signed if exactly the rent minimum stays", prepared({ balance: 890_880n + 7000n }), "Sign original 7000"],
    [
      "waits for an unknown balance",
      situation(pending, seen([], { preparation: withoutBalance })),
      "Hold providers_unavailable"
    ],
    [
      "fails after ten minutes without funds",
      prepared(
        { balance: 0n },
        { cause: cause("insufficient_funds"), causeSince: now - 600_000 },
        { rest: { quietSince: 0 } }
      ),
      "Finish failed insufficient_funds"
    ],
    [
      "waits longer for funds if it asks for that",
      prepared(
        { balance: 0n },
        { versions: [{ instructions: [], wait_for_funds: true }], cause: cause("insufficient_funds"), causeSince: 0 },
        { rest: { quietSince: 0 } }
      ),
      "Hold insufficient_funds"
    ],
    [
      "fails at once without funds if it is a top-up, which holds nothing of its payer",
      prepared({ balance: 0n }, { versions: [{ instructions: [], fails_without_funds: true }] }),
      "Finish failed insufficient_funds"
    ],
    [
      "fails if simulations fail",
      prepared({ simulated: { _tag: "Fails", error: "Custom 1" } }),
      "Finish failed would_fail"
    ],
    ["waits if simulations disagree", prepared({ simulated: { _tag: "Disagrees" } }), "Hold providers_disagree"],
    [
      "waits if it fails at the only provider with an opinion",
      prepared({ simulated: { _tag: "FailsAlone" } }),
      "Hold second_provider_missing"
    ],
    [
      "is simulated again if the relayer lost more than allowed",
      prepared({ simulated: { _tag: "BrokenOnce" } }),
      "Hold sending"
    ],
    [
      "fails if the relayer lost more than allowed twice",
      prepared({ simulated: { _tag: "Broken", code: "lamports_out" } }),
      "Finish failed lamports_out"
    ],
    ["waits for a simulation", prepared({ simulated: { _tag: "Unknown" } }), "Hold providers_unavailable"]
  ])
})
