// Delegations of the lane's own account, their second nonce, and many calls: which bytes are signed, and how each of them ends.
import { Option, Result, Struct } from "effect"
import { assert, describe, it } from "@effect/vitest"
import { cause } from "../../../../src/networks/core/Cause.ts"
import type { Cause } from "../../../../src/networks/core/Cause.ts"
import { noDelegate } from "../../../../src/networks/evm/rules/Authorizations.ts"
import { encodeExecute } from "../../../../src/networks/evm/rules/Batch.ts"
import { firstOffer } from "../../../../src/networks/evm/rules/Costs.ts"
import { changeIn, delegatedIn, recordedBy, stageOf } from "../../../../src/networks/evm/rules/Delegation.ts"
import { laneOf } from "../../../../src/networks/evm/rules/Evm.ts"
import { evmRules } from "../../../../src/networks/evm/rules/EvmRules.ts"
import { decisions, later, noop, summary } from "./DecisionTable.ts"
import {
  agreed,
  at,
  attempt,
  batch,
  commandsOf,
  delegate,
  delegated,
  delegationCode,
  lane,
  mined,
  now,
  only,
  others,
  pending,
  plan,
  receiptIn,
  request,
  seen,
  submitted,
  terms,
  totalsOf
} from "./Fixtures.ts"
import { observe, watch } from "./simulation/Invariants.ts"
import { rounds, sent } from "./simulation/Scenes.ts"
import { take } from "./simulation/Steps.ts"
import { transactionOf } from "./simulation/World.ts"

const account = lane().lane.address

const delegating = { to: account, value: 0n, gas_limit: 100_000n, delegate }

/** A delegation that waits for its nonces. */
const wanted = pending({ versions: [delegating], facts: { delegation: { delegate, takesSignatures: true } } })

/** The same with bytes at nonce 5. */
const signed = submitted({ versions: [delegating], facts: wanted.facts })

/** The row of nonce 6, which its authorization is to use. */
const second = submitted({
  number: 2,
  nonce: 6,
  origin: "authorization",
  intent: "clear",
  clearCode: "gap_filled",
  attempts: []
})

const stands = seen({ code: delegationCode })

const flying = submitted({ versions: batch.versions })

/** In block 100, by bytes that execute the calls. */
const executed = (code?: string) => mined({ versions: batch.versions }, 1, code === undefined ? {} : { code })

describe("a delegation", () => {
  decisions([
    ["is signed when nothing of the lane has a nonce", "Sign original sending", wanted],
    ["waits for others in flight", "Hold lane waits_for_delegation", wanted, lane({ others: others({ placed: 1 }) })],
    [
      "is followed by nothing before it is final",
      "Hold lane waits_for_delegation",
      pending(),
      lane({ others: others({ delegation: "signed" }) })
    ],
    [
      "holds nothing up while it has no nonce",
      "Sign original sending",
      pending(),
      lane({ others: others({ delegation: "waiting" }) })
    ],
    ["does not expire once it is signed", "Hold transaction in_pool", { ...signed, validUntil: now }],
    ["expires while it has no nonce", "Finish expired deadline_passed", { ...wanted, validUntil: now }],
    ["asks for the code of the account at its block", "Ask none", signed, lane(), seen({ count: 7, sights: sight() })],
    [
      "counts as mined, even if the call of the account itself reverted",
      "Mine mined mined_waiting",
      signed,
      lane(),
      seen({ count: 7, codeAt: { code: delegationCode }, sights: sight(false) })
    ],
    [
      "is confirmed by the code",
      "Finish confirmed confirmed",
      mined({ versions: [delegating] }, 1, { code: delegationCode, isSuccess: false }),
      lane(),
      later(2, { minedAt: agreed("block-100", false) })
    ],
    [
      "fails without the code, whatever its status is",
      "Finish failed delegation_without_effect",
      mined({ versions: [delegating] }, 1, { code: "0x" }),
      lane(),
      later(2, { minedAt: agreed() })
    ],
    [
      "that ends a delegation is confirmed by an account without code",
      "Finish confirmed confirmed",
      mined({ versions: [{ ...delegating, delegate: noDelegate }] }, 1, { code: "0x" }),
      delegated(),
      later(2, { minedAt: agreed() })
    ]
  ])

  const signedIn = (transactions: ReadonlyArray<typeof wanted>) => {
    const { signings } = plan(
      transactions.map((transaction) => ({ transaction, terms: { ...terms() }, view: seen(), providers: "a" })),
      { lane: laneOf(lane().lane), isDeepReorg: false },
      totalsOf(transactions, {}),
      now,
      8
    )
    return signings.map(({ transaction, sign }) => [transaction.number, sign.next?.origin])
  }

  it("has a price of EIP-1559, whatever the policy says", () => {
    const legacy = { ...terms(), isEip1559: false }
    assert.strictEqual(firstOffer(delegating, legacy, seen().market)?.type, "eip1559")
    assert.strictEqual(firstOffer({ to: account, value: 0n }, legacy, seen().market)?.type, "legacy")
  })

  it("takes two nonces, and nothing else is signed with it", () => {
    assert.deepStrictEqual(signedIn([wanted, pending({ number: 2 })]), [[1, "authorization"]])
  })

  it("waits for what is signed in the same plan", () => {
    assert.deepStrictEqual(signedIn([pending(), { ...wanted, number: 2 }]), [[1, undefined]])
  })

  it("cannot be canceled or replaced once it is signed", () => {
    assert.isTrue(Result.isFailure(evmRules.cancel(signed)))
    assert.deepStrictEqual(evmRules.cancel(wanted), Result.succeed({ _tag: "finish" }))
    assert.isTrue(evmRules.canReplace !== undefined && Result.isFailure(evmRules.canReplace(wanted)))
    assert.isTrue(evmRules.canReplace !== undefined && Result.isSuccess(evmRules.canReplace(batch)))
  })

  it("excludes another one of the account", () => {
    const exclusive = evmRules.exclusiveOf(delegating, {})
    assert.isDefined(exclusive)
    assert.strictEqual(evmRules.exclusiveOf({ ...delegating, delegate: noDelegate }, {}), exclusive)
    assert.isUndefined(evmRules.exclusiveOf(request(), {}))
  })

  it("is remembered from its bytes on, and the newest one counts", () => {
    const newer = { ...signed, place: at(9), facts: { delegation: { delegate: noDelegate, takesSignatures: true } } }
    assert.isUndefined(recordedBy([wanted], 0))
    assert.deepInclude(recordedBy([signed], 0), { delegate, nonce: 5, generation: 0 })
    assert.deepInclude(recordedBy([newer, signed], 0), { delegate: noDelegate, nonce: 9 })
    assert.isUndefined(recordedBy([signed], 1), "of a chain that is gone")
  })

  it("has a stage in its lane", () => {
    assert.isUndefined(stageOf([pending(), submitted()]))
    assert.strictEqual(stageOf([wanted, submitted()]), "waiting")
    assert.strictEqual(stageOf([signed]), "signed")
    assert.strictEqual(stageOf([second]), "signed")
  })
})

function sight(isSuccess = true) {
  return new Map([[1, { _tag: "Receipt", receipt: receiptIn(100, { isSuccess }) }]] as const)
}

describe("the second nonce", () => {
  decisions([
    [
      "waits while the delegation has not used its nonce",
      "Hold transaction waits_for_delegation",
      second,
      lane(),
      seen({ count: 5 })
    ],
    ["is filled at once if it is free", "Sign noop gap_filled", second, lane(), seen({ count: 6 })],
    [
      "waits for a price",
      "Hold transaction providers_unavailable",
      second,
      lane(),
      Struct.omit(seen({ count: 6 }), ["market"])
    ],
    [
      "waits for the signer",
      "Hold transaction signer_unavailable",
      second,
      lane({ signerRetry: { code: "signer_unavailable", at: now + 9 } }),
      seen({ count: 6 })
    ],
    [
      "is not final before the count at depth is above it",
      "Hold transaction waits_for_delegation",
      second,
      lane(),
      seen({ count: 7, countAtFinal: 5 })
    ],
    [
      "is looked for when the count at depth is above it",
      "Ask none",
      second,
      lane(),
      seen({ count: 7, countAtFinal: 7 })
    ],
    [
      "ends when a final block shows its authorization",
      "Finish failed used_by_authorization",
      second,
      lane(),
      seen({
        count: 7,
        countAtFinal: 7,
        taker: { _tag: "Authorized", block: 80, blockHash: "0x80", second: "not_configured" }
      })
    ],
    [
      "is not ended by one provider alone",
      "Hold transaction nonce_taken_unproven",
      second,
      lane(),
      seen({ count: 7, countAtFinal: 7, taker: { _tag: "Authorized", block: 80, blockHash: "0x80" } })
    ],
    [
      "waits while the provider does not show its blocks",
      "Hold transaction waits_for_delegation",
      second,
      lane(),
      seen({ count: 7, countAtFinal: 7, taker: { _tag: "Behind" } })
    ],
    [
      "ends without proof if an operator says so",
      "Finish failed used_by_authorization",
      { ...second, clearCode: "nonce_taken_unproven" },
      lane(),
      seen({ count: 7, countAtFinal: 7 })
    ],
    [
      "that an operator would send again is not sent",
      "Finish failed used_by_authorization",
      pending({ origin: "authorization" }),
      lane()
    ],
    [
      "of a chain that began anew is given up",
      "Finish failed chain_changed",
      second,
      lane({ lane: { ...lane().lane, generation: 1 } })
    ],
    [
      "that was filled is final by its no-op",
      "Finish failed gap_filled",
      { ...second, attempts: [noop(1, { place: at(6) })] },
      lane(),
      seen({ count: 7, countAtFinal: 7 })
    ]
  ])
})

describe("many calls", () => {
  decisions([
    ["are signed while the account runs what was recorded", "Sign original sending", batch, delegated(), stands],
    ["wait until the code of the account is known", "Hold relayer providers_unavailable", batch, delegated(), seen()],
    [
      "fail without a nonce if the account has no code",
      "Finish failed not_delegated",
      batch,
      delegated(),
      seen({ code: "0x" })
    ],
    [
      "fail if the account runs another delegate",
      "Finish failed not_delegated",
      batch,
      delegated(),
      seen({ code: `0xef0100${"11".repeat(20)}` })
    ],
    ["fail if nothing was delegated", "Finish failed not_delegated", batch, lane(), seen({ code: "0x" })],
    [
      "wait for a delegation that is on its way",
      "Hold transaction waits_for_delegation",
      batch,
      lane({ others: others({ delegation: "waiting" }) }),
      seen({ code: "0x" })
    ],
    [
      "wait while a provider lags behind the delegation",
      "Hold transaction waits_for_delegation",
      batch,
      delegated(),
      seen({ code: "0x", count: 2 })
    ],
    [
      "wait until the delegation is final",
      "Hold transaction waits_for_delegation",
      batch,
      delegated({}, { lane: { ...lane().lane, settledNonce: 2 }, others: others({ delegation: "waiting" }) }),
      stands
    ],
    [
      "are signed after a delegation whose rows have ended, although nothing was sent since",
      "Sign original sending",
      batch,
      delegated({}, { lane: { ...lane().lane, settledNonce: 2 } }),
      stands
    ],
    [
      "wait if the delegate has changed",
      "Hold transaction delegate_changed",
      batch,
      delegated({ watched: { sequence: 1n, at: now, changed: "its code" } }),
      stands
    ],
    [
      "do not wait for a change of an earlier delegate",
      "Sign original sending",
      batch,
      delegated({ watched: { sequence: 0n, at: now, changed: "its code" } }),
      stands
    ],
    [
      "in flight are cleared if the account has lost its code",
      "Intend clear not_delegated",
      flying,
      delegated(),
      seen({ code: "0x" })
    ],
    [
      "in flight are not sent for the first time without the code",
      "Intend clear not_delegated",
      { ...flying, state: "signed", attempts: [attempt(1, { sends: 0 })] },
      delegated(),
      seen({ code: "0x" })
    ],
    [
      "in flight are not raised before the code is known",
      "Hold transaction providers_unavailable",
      flying,
      delegated(),
      later(12),
      now + 24_000
    ],
    [
      "in flight are raised while the code is there",
      "Sign bump underpriced_bumping",
      flying,
      delegated(),
      later(12, { code: delegationCode }),
      now + 24_000
    ],
    [
      "are confirmed if the account ran the executor at their block",
      "Finish confirmed confirmed",
      executed(delegationCode),
      delegated(),
      later(2, { minedAt: agreed() })
    ],
    [
      "fail if the account had no code at their block, whatever the status is",
      "Finish failed not_delegated",
      executed("0x"),
      delegated(),
      later(2, { minedAt: agreed(), code: delegationCode })
    ],
    [
      "ask for the code at their block if it is not known",
      "Ask none",
      executed(),
      delegated(),
      later(2, { minedAt: agreed() })
    ],
    [
      "are confirmed by the present code if no provider has old state",
      "Finish confirmed confirmed",
      executed(),
      delegated(),
      later(2, { minedAt: agreed(), codeAt: {}, code: delegationCode })
    ],
    [
      "fail without any code if their delegation is not recorded any more",
      "Finish failed not_delegated",
      executed("0x"),
      lane(),
      later(2, { minedAt: agreed() })
    ],
    [
      "are confirmed with any code if their delegation is not recorded any more",
      "Finish confirmed confirmed",
      executed(delegationCode),
      lane(),
      later(2, { minedAt: agreed() })
    ],
    [
      "are not decided if nobody knows the code at their block",
      "Hold transaction providers_unavailable",
      executed(),
      delegated(),
      later(2, { minedAt: agreed(), codeAt: {}, code: "0x" })
    ]
  ])

  it("that come after a delegation are signed by the next holder of an idle lane, which reads no final count", () => {
    const world = sent({ observe })
    take(world, { do: "Delegate", ends: 0 }, watch)
    rounds(world, 12)
    take(world, { do: "Crash" }, watch)
    take(world, { do: "Calls", lasts: 1 }, watch)
    rounds(world, 2)
    assert.strictEqual(transactionOf(world, 4).state, "mined")
  })

  it("do not end as confirmed before the code at their block was asked for", () => {
    const view = seen({ count: 6, code: delegationCode, sights: sight() })
    assert.strictEqual(only(commandsOf(flying, delegated(), view), "Ask").question._tag, "CodeAt")
    const known = commandsOf(flying, delegated(), { ...view, codeAt: { code: delegationCode } })
    assert.strictEqual(summary(known), "Mine mined mined_waiting")
  })

  it("that reverted have met code, and fail as every call does", () => {
    const failed = mined({ state: "submitted", versions: batch.versions }, 1, { isSuccess: false })
    assert.strictEqual(
      summary(commandsOf(failed, delegated(), later(2, { minedAt: agreed("block-100", false) }))),
      "Finish failed reverted"
    )
  })

  it("reserve what all of them send", () => {
    const offer = only(commandsOf(batch, delegated(), stands), "Sign").offer
    assert.strictEqual(evmRules.costOf(batch.versions[0], offer) - evmRules.costOf(undefined, offer), 3n)
  })

  it("are not replaced by a single call, nor a single call by many", () => {
    const fieldsOf = (transaction: typeof batch, given: Parameters<typeof evmRules.replacementViolations>[1]) =>
      evmRules.replacementViolations(transaction, given, undefined).map(({ field }) => field)
    assert.deepStrictEqual(fieldsOf(batch, request()), ["calls"])
    assert.deepStrictEqual(fieldsOf(pending(), batch.versions[0]), ["calls"])
    assert.deepStrictEqual(fieldsOf(batch, batch.versions[0]), [])
  })

  it("are recognized in a transaction that the ledger has forgotten", () => {
    const data = encodeExecute(batch.versions[0].calls ?? [])
    assert.isTrue(evmRules.couldBe(batch, { to: account, value: 0n, data }))
    assert.isFalse(evmRules.couldBe(batch, { to: account, value: 0n, data: "0x" }))
  })
})

describe("what a lane remembers", () => {
  const laneWith = (fields: ReturnType<typeof delegated>) => {
    const found = laneOf(fields.lane)
    return { ...found, accounts: [{ ...found.accounts[0], ...fields.account }] as const }
  }

  it("of a delegation counts in its generation alone", () => {
    assert.deepInclude(delegatedIn(laneWith(delegated())), { delegate })
    const other = { delegation: { delegate, takesSignatures: true, nonce: 1, generation: 3 } }
    assert.isUndefined(delegatedIn(laneWith(delegated({ counters: other }))))
  })

  it("of one that was ended is nothing", () => {
    const ended = { delegation: { delegate: noDelegate, takesSignatures: true, nonce: 1, generation: 0 } }
    assert.isUndefined(delegatedIn(laneWith(delegated({ counters: ended }))))
  })

  it("of a change belongs to the delegation that was checked", () => {
    const changed = { sequence: 1n, at: now, changed: "its code" }
    assert.strictEqual(changeIn(laneWith(delegated({ watched: changed }))), "its code")
    assert.isUndefined(changeIn(laneWith(delegated({ watched: { ...changed, sequence: 0n } }))))
  })
})

describe("what nobody knows the effect of", () => {
  const view = later(2, { minedAt: agreed(), codeAt: {}, code: "0x" })
  const holdAfter = (before: Cause, at: number, seen = view) =>
    only(commandsOf({ ...executed(), cause: before, causeSince: now - 600_000 }, delegated(), seen, at), "Hold").cause
  const asking = cause("providers_unavailable", { block: 100, until: now + 120_000 })

  it("is asked for again, and is a question to an operator after two minutes", () => {
    assert.deepStrictEqual(holdAfter(cause("mined_waiting"), now), asking)
    assert.deepStrictEqual(holdAfter(asking, now + 119_999), asking)
    assert.strictEqual(holdAfter(asking, now + 120_000).code, "effect_unproven")
    assert.strictEqual(holdAfter(cause("effect_unproven", { block: 100 }), now).code, "effect_unproven")
  })

  it("is waited for two minutes, however long another outage lasted before", () => {
    assert.deepStrictEqual(holdAfter(cause("providers_unavailable", { until: now - 1 }), now), asking)
    assert.deepStrictEqual(holdAfter(cause("providers_unavailable"), now), asking)
    assert.deepStrictEqual(holdAfter(cause("providers_unavailable", { block: 99, until: now - 1 }), now), asking)
  })

  it("is no question to an operator if a provider shows it and another one is missing or contradicts", () => {
    for (const doubt of ["second_provider_missing", "providers_disagree"] as const) {
      const doubted = { ...view, codeAt: { doubt } }
      assert.deepStrictEqual(holdAfter(asking, now + 120_000, doubted), cause(doubt, { block: 100 }))
    }
  })

  it("ends by a proof that comes later", () => {
    const asked = { ...executed(), cause: cause("effect_unproven"), causeSince: now }
    const found = (code: string) => summary(commandsOf(asked, delegated(), { ...view, codeAt: { code } }))
    assert.strictEqual(found(delegationCode), "Finish confirmed confirmed")
    assert.strictEqual(found("0x"), "Finish failed not_delegated")
  })

  it("asks how many nonces the account has used if nothing changed its code since", () => {
    const asked = (transaction: typeof signed) => {
      const { question } = only(commandsOf(transaction, delegated(), later(2, { minedAt: agreed() })), "Ask")
      return question._tag === "CodeAt" ? question.count : undefined
    }
    assert.strictEqual(asked(executed()), 6)
    assert.strictEqual(asked(mined({ versions: [delegating], facts: wanted.facts })), 7)
  })

  it("is ended as failed by an operator, once its nonce is used in a final block, and is never sent again", () => {
    const asked = { ...executed(), cause: cause("effect_unproven", { block: 100 }) }
    const answered = (answer: "send" | "give_up", usedBelow: bigint) =>
      evmRules.resolve?.(asked, answer, { lane: laneOf(lane().lane), now, usedBelow })
    const ended = answered("give_up", 6n)
    assert.isTrue(ended !== undefined && Result.isSuccess(ended))
    assert.deepStrictEqual(
      Option.map(
        Option.fromUndefinedOr(ended),
        Result.map((command) => summary([command]))
      ),
      Option.some(Result.succeed("Finish failed effect_unproven"))
    )
    for (const refused of [answered("give_up", 5n), answered("send", 6n)]) {
      assert.isTrue(refused !== undefined && Result.isFailure(refused))
    }
  })
})

describe("a decision of an operator", () => {
  it("clears a delegation by a no-op, which leaves the second nonce to be filled", () => {
    const cleared = { ...signed, intent: "clear", clearCode: "canceled" } as const
    assert.strictEqual(summary(commandsOf(cleared)), "Sign noop canceled")
  })
})
