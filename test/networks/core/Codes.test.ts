// A situation for every code that an evm transaction can have, and a description of every field that shows one.
import { Result, Schema } from "effect"
import { assert, describe, it } from "@effect/vitest"
import { cause, Figures, KnownCode, laterCodes } from "../../../src/networks/core/Cause.ts"
import type { LaterCode } from "../../../src/networks/core/Cause.ts"
import { TransactionLimits } from "../../../src/networks/core/TransactionLimits.ts"
import {
  CanceledTransactions,
  ResyncNonce,
  TransactionExplanation
} from "../../../src/networks/core/TransactionRequests.ts"
import { resolve } from "../../../src/networks/core/Transition.ts"
import type { AuthorityState } from "../../../src/networks/evm/rules/Authorizations.ts"
import type { Seen } from "../../../src/networks/evm/rules/Evm.ts"
import { EvmTransaction, SendEvmTransaction, TransactionAttempt } from "../../../src/networks/evm/rules/EvmSchemas.ts"
import { explain } from "../../../src/networks/evm/rules/EvmWords.ts"
import { causeOf, codeOf, later, noop, unsent } from "../evm/rules/DecisionTable.ts"
import {
  agreed,
  attempt,
  batch,
  commandsOf,
  delegate,
  delegated,
  delegationCode,
  gwei,
  lane,
  mined,
  now,
  others,
  pending,
  request,
  seen,
  submitted,
  taker,
  terms
} from "../evm/rules/Fixtures.ts"

type Situation = Parameters<typeof commandsOf>

const taken = (over: object = {}) => seen({ count: 6, countAtFinal: 6, taker: { ...taker, ...over } })
const reverts = seen({ estimate: { _tag: "Reverts", second: "agrees" } })
const simulated = pending({ versions: [{ to: "0x01", value: 0n }] })
const deep = later(2, { minedAt: agreed() })
const deepFailed = later(2, { minedAt: agreed("block-100", false) })
const silent = {
  first: "block-100",
  others: [{ _tag: "Silent", host: "h", since: now - 60_000, error: "no answer" } as const]
}
const away = (code: "providers_unavailable" | "rate_limited") =>
  ({ _tag: "Unreachable", code, retryAt: now + 9 }) as const
const capped = lane({ terms: terms({ cap: 11n * gwei }) })
const spike = { baseFee: 50n * gwei, tips: { safeLow: 1n, average: 2n, fast: 3n, fastest: 4n } }
const failed = { isSuccess: false }
/** It is private, and waits at the chain's count. */
const route = { kind: "private", since: now } as const
const lowFee = submitted({
  versions: [request({ max_fee_per_gas: gwei, max_priority_fee_per_gas: gwei })],
  attempts: [attempt(1, { fees: { type: "eip1559", maxFee: 3n * gwei, tip: gwei } })]
})

/** An authorization with nonce 3 of an account. */
const listed = pending({
  versions: [
    request({
      gas_limit: 100_000n,
      authorization_list: [
        {
          chainId: 31_337,
          address: `0x${"5a".repeat(20)}`,
          nonce: 3,
          yParity: 0,
          r: `0x${"1".repeat(64)}`,
          s: `0x${"2".repeat(64)}`,
          authority: `0x${"a1".repeat(20)}`
        }
      ]
    })
  ]
})
const authorityAt = (over: Partial<AuthorityState>): Partial<Seen> => ({
  authorities: [{ count: 3, code: "0x", isRelayer: false, ...over }]
})

/** `queued` is what accepting a transaction, or an operator's `send`, sets: no poll does. */
const situations: Readonly<Record<Exclude<KnownCode, "queued" | LaterCode>, Situation>> = {
  relayer_paused: [pending(), lane({ terms: terms({ isPaused: true }) })],
  relayer_disabled: [pending(), lane({ terms: terms({ disabled: "relayer_disabled" }) })],
  lane_window_full: [pending(), lane({ others: others({ inFlight: 16 }) })],
  waits_for_predecessors: [simulated, lane({ others: others({ inFlight: 1 }) }), reverts],
  not_before: [pending({ notBefore: now + 1 })],
  nonce_taken: [submitted(), lane(), taken()],
  gas_price_above_cap: [pending(), lane({ terms: terms({ cap: 1n }) })],
  gas_price_below_base_fee: [pending({ versions: [request({ gas_price: 1n })] })],
  call_not_estimated: [simulated, lane(), seen({ estimate: { _tag: "Refused", words: "cannot do this" } })],
  insufficient_funds: [pending(), lane(), seen({ balance: 0n })],
  signer_unavailable: [pending(), lane({ signerRetry: { code: "signer_unavailable", at: now + 9 } })],
  throttled: [pending(), lane({ signerRetry: { code: "throttled", at: now + 9 } })],
  row_changed: [pending(), lane({ signerRetry: { code: "row_changed", at: now + 9 } })],
  providers_unavailable: [pending(), lane(), away("providers_unavailable")],
  rate_limited: [submitted(), lane(), away("rate_limited")],
  no_private_rpc: [pending({ route }), lane({ terms: terms({ hasPrivateProviders: false }) })],
  chain_changed: [submitted(), lane({ stop: cause("chain_changed") })],
  nonce_out_of_range: [pending(), lane({ lane: { ...lane().lane, nextNonce: Number.MAX_SAFE_INTEGER } })],
  nonce_ahead: [pending(), lane({ stop: cause("nonce_ahead", { count: 9, next_nonce: 5 }) })],
  nonce_unexplained: [pending(), lane({ stop: cause("nonce_unexplained", { nonce: 5, count: 6 }) })],
  deep_reorg: [submitted(), lane({ isDeepReorg: true }), seen({ count: 4 })],
  nonce_taken_unproven: [submitted(), lane(), seen({ count: 6, countAtFinal: 6, taker: { _tag: "NotFound" } })],
  restored_unproven: [pending({ restored: true })],
  sending: [submitted({ state: "signed", attempts: [unsent(attempt(1))] })],
  in_pool: [submitted()],
  not_in_pool_rebroadcast: [submitted(), lane(), seen(), now + 30_000],
  underpriced_bumping: [submitted(), lane(), later(12), now + 24_000],
  at_cap: [submitted(), capped, later(12), now + 24_000],
  below_base_fee: [submitted(), capped, later(12, { market: spike }), now + 24_000],
  yielding: [lowFee, lane({ others: others({ inFlight: 2 }) }), later(12, { market: spike }), now + 24_000],
  canceling: [submitted({ intent: "cancel" })],
  expiring: [submitted({ validUntil: now })],
  mined_waiting: [mined(), lane(), seen({ minedAt: agreed() })],
  reverted_unconfirmed: [mined({ state: "submitted" }, 1, failed), lane(), seen({ minedAt: agreed() })],
  effect_unproven: [
    { ...mined({ versions: batch.versions }), cause: cause("effect_unproven") },
    delegated(),
    later(2, { minedAt: agreed(), codeAt: {}, code: "0x" })
  ],
  second_provider_missing: [mined(), lane(), later(2, { minedAt: silent })],
  providers_disagree: [mined(), lane(), later(2, { minedAt: agreed("block-100", false) })],
  chain_stalled: [submitted(), lane(), seen({ stalledSince: now }), now + 60_000],
  accepted_not_included: [
    submitted({ attempts: [attempt(1, { sends: 2 })] }),
    lane(),
    later(6, { acceptedBy: ["https://a.example", "https://b.example"] }),
    now + 12_000
  ],
  private_not_included: [submitted({ route }), lane(), later(3, { revertsNow: {} }), now + 6000],
  refused_in_unknown_words: [
    submitted({
      attempts: [attempt(1, { outcome: "refused", refusal: { class: "unknown", words: "not authorized", times: 3 } })]
    })
  ],
  dropped_by_node: [submitted(), lane(), seen({ sights: new Map([[1, { _tag: "Absent", polls: 0, drops: 2 }]]) })],
  reorged: [mined(), lane(), later(2, { minedAt: { first: "other" } })],
  confirmed: [mined(), lane(), deep],
  executed_late: [mined({ intent: "expire" }), lane(), deep],
  canceled: [mined({ intent: "cancel", attempts: [attempt(1), noop(2)] }, 2), lane(), deep],
  deadline_passed: [pending({ validUntil: now })],
  would_revert: [simulated, lane(), reverts],
  gas_limit_above_block: [
    pending({ versions: [request({ gas_limit: 40_000_000n })] }),
    lane(),
    seen({ head: { number: 100, hash: "block-100", gasLimit: 30_000_000n } })
  ],
  gas_limit_below_estimate: [
    pending({ versions: [request({ gas_limit: 40_000n, simulate: true })] }),
    lane(),
    seen({ estimate: { _tag: "Gas", gas: 40_001n } })
  ],
  own_account_has_code: [
    pending({ versions: [request({ to: lane().lane.address, data: "0x01" })] }),
    lane(),
    seen({ hasCode: true })
  ],
  authorization_ahead: [listed, lane(), seen(authorityAt({ count: 2 }))],
  authority_busy: [listed, lane(), seen(authorityAt({ pendingCount: 5 }))],
  authorization_used: [listed, lane(), seen(authorityAt({ count: 4 }))],
  authority_is_relayer: [listed, lane(), seen(authorityAt({ isRelayer: true }))],
  estimate_unavailable: [
    { ...listed, versions: [{ ...listed.versions[0], simulate: true }] },
    lane(),
    seen({ ...authorityAt({}), estimate: { _tag: "Unavailable" } })
  ],
  authorization_without_effect: [mined({ versions: listed.versions }, 1, { delegated: [false] }), lane(), deep],
  reverted: [mined({ state: "submitted" }, 1, failed), lane(), deepFailed],
  out_of_gas: [mined({ state: "submitted" }, 1, { ...failed, gasUsed: 21_000n }), lane(), deepFailed],
  refused_by_all: [submitted({ intent: "clear", clearCode: "refused_by_all" })],
  nonce_taken_too_often: [submitted({ requeues: 3 }), lane(), taken()],
  nonce_unavailable: [pending({ requiredNonce: 4 })],
  policy_changed: [pending(), lane({ terms: terms({ isAllowed: false }) })],
  private_estimate_unavailable: [
    { ...simulated, route, cause: cause("call_not_estimated"), causeSince: now - 120_000 },
    lane(),
    seen({ estimate: { _tag: "Unknown" } })
  ],
  waits_for_delegation: [pending(), lane({ others: others({ delegation: "signed" }) })],
  delegate_changed: [
    batch,
    delegated({ watched: { sequence: 1n, at: now, changed: "the code of the delegate", since: now } }),
    seen({ code: delegationCode })
  ],
  not_delegated: [batch, delegated(), seen({ code: "0x" })],
  delegation_without_effect: [mined({ versions: [{ ...request(), delegate }] }, 1, { code: "0x" }), delegated(), deep],
  used_by_authorization: [
    submitted({ origin: "authorization", intent: "clear", attempts: [] }),
    lane(),
    seen({
      count: 6,
      countAtFinal: 6,
      taker: { _tag: "Authorized", block: 80, blockHash: "block-80", second: "not_configured" }
    })
  ],
  gap_filled: [
    submitted({ origin: "gap", intent: "clear", clearCode: "gap_filled", attempts: [noop(1)] }),
    lane(),
    seen({ count: 6, countAtFinal: 6 })
  ]
}

describe("every code", () => {
  for (const [code, situation] of Object.entries(situations)) {
    it(`${code} is reached, and explained with its numbers`, () => {
      const why = causeOf(commandsOf(...situation))
      assert.strictEqual(why?.code, code)
      if (why !== undefined) assert.notMatch(explain(why, false).reason, /unknown|does not know/)
    })
  }

  for (const [code, [transaction, situation, view, moment = now]] of Object.entries(situations)) {
    it(`${code} is decided about again now or later`, () => {
      for (const command of commandsOf(transaction, situation, view, moment)) {
        if (command._tag === "PollAt") assert.isAtLeast(command.at, moment)
      }
    })
  }

  it("sending is explained with its numbers from the signature on", () => {
    const why = causeOf(commandsOf(pending()))
    assert.strictEqual(why?.code, "sending")
    if (why !== undefined) assert.include(explain(why, false).reason, "No send of it is recorded yet")
    const replaced = submitted({ versions: [request(), request({ value: 2n })] })
    const newer = causeOf(commandsOf(replaced))
    assert.strictEqual(newer?.code, "sending")
    if (newer !== undefined) assert.include(explain(newer, false).reason, "No send of it is recorded yet")
  })

  it("queued follows an operator's answer", () => {
    assert.strictEqual(codeOf([Result.getOrThrow(resolve(pending({ restored: true }), "send", 0n))]), "queued")
  })

  it("has a situation", () => {
    const foreign = new Set<string>(laterCodes)
    assert.deepStrictEqual(
      ["queued", ...Object.keys(situations)].sort(),
      KnownCode.literals.filter((code) => !foreign.has(code)).sort()
    )
  })
})

const schemas = {
  CanceledTransactions,
  EvmTransaction,
  Figures,
  ResyncNonce,
  SendEvmTransaction,
  TransactionAttempt,
  TransactionExplanation,
  TransactionLimits
}

interface Node {
  readonly properties?: { readonly [name: string]: Node }
  readonly description?: string
  readonly examples?: ReadonlyArray<unknown>
  readonly allOf?: ReadonlyArray<Node>
}

const isDocumented = (node: Node): boolean =>
  (node.description !== undefined && (node.examples?.length ?? 0) > 0) || (node.allOf ?? []).some(isDocumented)

describe("every field", () => {
  for (const [name, schema] of Object.entries(schemas)) {
    it(`of ${name} has a description and an example`, () => {
      const { definitions } = Schema.toJsonSchemaDocument(schema)
      for (const definition of Object.values(definitions) as ReadonlyArray<Node>) {
        for (const [field, node] of Object.entries(definition.properties ?? {})) {
          assert.isTrue(isDocumented(node), `${name}: ${field}`)
        }
      }
    })
  }
})
