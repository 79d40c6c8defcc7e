// The decisions about a transaction without a nonce, in the order of their table, as far as they are about its time and its lane.
import { assert, describe, it } from "@effect/vitest"
import { cause } from "../../../../src/networks/core/Cause.ts"
import type { Transaction } from "../../../../src/networks/core/Transaction.ts"
import type { Evm } from "../../../../src/networks/evm/rules/Evm.ts"
import { decisions } from "./DecisionTable.ts"
import type { Case } from "./DecisionTable.ts"
import { commandsOf, hour, lane, now, only, others, pending, terms } from "./Fixtures.ts"

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
    "Hold providers providers_unavailable",
    pending(),
    undefined,
    { _tag: "Unreachable", code: "providers_unavailable", retryAt: now + 9 }
  ],
  [
    "with rate-limited providers",
    "Hold providers rate_limited",
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
  ["behind a full window", "Hold lane lane_window_full", pending(), lane({ others: others({ inFlight: 16 }) })]
]

describe("a pending transaction", () => {
  decisions(waiting)

  it("is checked again no later than its own moments", () => {
    const held = lane({ terms: terms({ isPaused: true }) })
    const at = (transaction: Transaction<Evm>) => only(commandsOf(transaction, held), "PollAt").at
    assert.strictEqual(at(pending()), now + 2000)
    assert.strictEqual(at(pending({ validUntil: now + 1500 })), now + 1500)
    assert.strictEqual(at(pending({ notBefore: now + 700 })), now + 700)
    assert.strictEqual(only(commandsOf(pending({ notBefore: now + hour })), "PollAt").at, now + hour)
  })
})
