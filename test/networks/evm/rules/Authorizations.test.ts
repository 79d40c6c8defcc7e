// Lists of authorizations: what is refused when they arrive, what is decided before they are signed, and what becomes of them.
import { assert, describe, it } from "@effect/vitest"
import { cause } from "../../../../src/networks/core/Cause.ts"
import { violationsOf, policyViolationsOf, storedViolationsOf } from "../../../../src/networks/evm/rules/Admission.ts"
import { factViolations, warningsOf, withFacts } from "../../../../src/networks/evm/rules/AuthorizationRules.ts"
import type { EntryFacts } from "../../../../src/networks/evm/rules/AuthorizationRules.ts"
import { noDelegate } from "../../../../src/networks/evm/rules/Authorizations.ts"
import type { AuthorityState, SignedAuthorization } from "../../../../src/networks/evm/rules/Authorizations.ts"
import { requestOfBody } from "../../../../src/networks/evm/rules/Evm.ts"
import type { EvmTerms, Request, Seen } from "../../../../src/networks/evm/rules/Evm.ts"
import { evmRules } from "../../../../src/networks/evm/rules/EvmRules.ts"
import { show } from "../../../../src/networks/evm/rules/EvmWords.ts"
import { RelayerId } from "../../../../src/domain/relayer/Relayer.ts"
import { TransactionId } from "../../../../src/networks/core/TransactionValues.ts"
import { networkOf, relayerOf } from "../../../server/lanes/fake/World.ts"
import { decisions, noop } from "./DecisionTable.ts"
import type { Case } from "./DecisionTable.ts"
import {
  agreed,
  attempt,
  commandsOf,
  lane,
  mined,
  now,
  only,
  pending,
  receiptIn,
  request,
  seen,
  submitted,
  terms
} from "./Fixtures.ts"
import { authority, carrying, delegate, entryOf, listed, on, other, replacedBy } from "./ListFixtures.ts"

/** The call goes to the account that signed the entry. */
const to = authority

const admission = (over: Partial<EvmTerms> = {}) => ({
  now,
  terms: on(over),
  checksum: (address: string) => address.replace("5aA", "5aa")
})

const faults = (list: ReadonlyArray<SignedAuthorization>, over: Partial<EvmTerms> = {}, more: Partial<Request> = {}) =>
  violationsOf({ to, value: 0n, ...more, authorization_list: list }, admission(over)).map(
    ({ field, message }) => `${field}: ${message}`
  )

const { network } = terms()

describe("a list that arrives", () => {
  it("is accepted if policy and network allow it", () => {
    assert.deepStrictEqual(faults([entryOf(), entryOf({ authority: other, chainId: 0 })]), [])
  })

  const without = { terms: { ...on(), network: { ...network, hasAuthorizations: false } } }

  it.each<readonly [string, ReadonlyArray<SignedAuthorization>, Partial<EvmTerms>, string]>([
    ["of another chain", [entryOf({ chainId: 1 })], {}, "authorization_list.0.chain_id: must be 31337"],
    [
      "with two entries of one account",
      [entryOf(), entryOf({ nonce: 4 })],
      {},
      "authorization_list.1: is of the same account as an entry before it"
    ],
    [
      "whose account is its own delegate",
      [entryOf({ address: authority })],
      { delegates: [authority] },
      "authorization_list.0.address: is the account that has signed it"
    ],
    [
      "with a delegate of a wrong checksum",
      [entryOf({ address: "0x5aAeb6053f3e94c9b9a09f33669435e7ef1beaed" })],
      {},
      "authorization_list.0.address: has a wrong checksum"
    ],
    [
      "whose delegate the policy does not name",
      [entryOf({ address: other })],
      {},
      "authorization_list.0.address: is not in allowed_delegates of the relayer's policy"
    ],
    [
      "that ends a delegation, which the policy does not name",
      [entryOf({ address: noDelegate })],
      {},
      "authorization_list.0.address: is not in allowed_delegates"
    ],
    [
      "on a network without the feature",
      [entryOf()],
      without.terms,
      "authorization_list: cannot be used because the network does not have the feature eip7702"
    ],
    [
      "on a network without EIP-1559 fees",
      [entryOf()],
      { network: { ...network, isEip1559: false } },
      "authorization_list: cannot be used because the network does not support EIP-1559 fees"
    ]
  ])("%s is refused", (_, list, over, expected) => {
    assert.include(faults(list, over).join("; "), expected)
  })

  it("is refused by a policy without allowed_delegates", () => {
    const { delegates: _, ...off } = on()
    const found = violationsOf({ to, value: 0n, authorization_list: [entryOf()] }, { ...admission(), terms: off })
    assert.deepStrictEqual(found, [
      {
        field: "authorization_list",
        message: "cannot be used because the relayer's policy has no allowed_delegates"
      }
    ])
  })

  it("compares delegates without regard to case, and takes zero that is named", () => {
    assert.deepStrictEqual(faults([entryOf({ address: noDelegate })], { delegates: [noDelegate] }), [])
    const mixed = "0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed"
    assert.deepStrictEqual(
      violationsOf({ to, value: 0n, authorization_list: [entryOf({ address: mixed })] }, admission()),
      []
    )
  })

  it("needs a receiver, which viem fills in", () => {
    const found = violationsOf({ value: 0n, data: "0x01", authorization_list: [entryOf()] }, admission())
    assert.deepStrictEqual(
      found.map(({ field }) => field),
      ["to"]
    )
    assert.include(found[0]?.message, "viem fills in the account of the first entry")
  })

  it("is not combined with a gas price", () => {
    const [fault] = faults([entryOf()], {}, { gas_price: 1n })
    assert.strictEqual(fault, "gas_price: cannot be given together with authorization_list")
  })

  it("needs gas for each entry, although a node would answer a hash for less", () => {
    const least = 21_000n + 2n * 25_000n
    const list = [entryOf(), entryOf({ authority: other })]
    assert.deepStrictEqual(faults(list, {}, { gas_limit: least }), [])
    assert.deepStrictEqual(faults(list, {}, { gas_limit: least - 1n }), [
      `gas_limit: must be at least ${least} for this data and these authorizations`
    ])
  })

  it("may call its accounts if a list of receivers has the word authority", () => {
    const list = [entryOf(), entryOf({ authority: other })]
    const only = (receivers: ReadonlyArray<string>, target = to) => faults(list, { receivers }, { to: target })
    assert.deepStrictEqual(only(["authority"]), [])
    assert.deepStrictEqual(only(["authority"], other.toUpperCase().replace("0X", "0x")), [])
    assert.include(only([]).join(), "to: is not in whitelist_receivers")
    assert.include(only(["authority"], `0x${"c3".repeat(20)}`).join(), "to: is not in whitelist_receivers")
    assert.deepStrictEqual(only([authority]), [])
    const paying = (receivers: ReadonlyArray<string>) => faults(list, { receivers }, { to, value: 1n })
    assert.deepStrictEqual(paying(["authority"]), [
      "value: must be 0 for an account that whitelist_receivers allows only by the word authority"
    ])
    assert.deepStrictEqual(paying([authority]), [])
    const plain = violationsOf({ to, value: 0n }, admission({ receivers: ["authority"] }))
    assert.deepStrictEqual(
      plain.map(({ field }) => field),
      ["to"]
    )
  })

  it("is judged again by the policy for wallets, for stored transactions and before signatures", () => {
    const body = { to, value: 0n, authorization_list: [entryOf({ address: other })] }
    for (const found of [policyViolationsOf(body, admission()), storedViolationsOf(requestOfBody(body), on())]) {
      assert.deepStrictEqual(
        found.map(({ field }) => field),
        ["authorization_list.0.address"]
      )
    }
    const isAllowed = (delegates: ReadonlyArray<string> | undefined) =>
      evmRules.termsOf(
        { relayer: relayerOf(delegates === undefined ? {} : { allowed_delegates: delegates }), network: networkOf() },
        pending({ versions: [requestOfBody(body)] }),
        ""
      ).isAllowed
    assert.deepStrictEqual([isAllowed([other]), isAllowed([delegate]), isAllowed(undefined)], [true, false, false])
  })

  it("has an EIP-1559 price although the policy wants gas prices", () => {
    const { offer } = only(
      commandsOf(
        pending({ versions: [request({ to, gas_limit: 100_000n, authorization_list: [entryOf()] })] }),
        lane({ terms: on({ isEip1559: false }) }),
        seen({ authorities: [{ count: 3, code: "0x", isRelayer: false }] })
      ),
      "Sign"
    )
    assert.strictEqual(offer.fees.type, "eip1559")
  })
})

describe("what the chain says about a list that arrives", () => {
  const code = `0xef0100${delegate.slice(2)}`
  const facts = (over: Partial<EntryFacts> = {}): EntryFacts => ({
    isRelayer: false,
    isUsed: false,
    code: "0x",
    delegateCode: "0x6000",
    ...over
  })
  const faultOf = (over: Partial<EntryFacts>) =>
    factViolations([entryOf()], [facts(over)]).map(({ field, message }) => `${field}: ${message}`)[0] ?? "accepted"

  it.each<readonly [string, Partial<EntryFacts>, string]>([
    ["nothing wrong", {}, "accepted"],
    ["another delegation, which it replaces", { code: `0xef0100${"c3".repeat(20)}` }, "accepted"],
    ["a relayer", { isRelayer: true }, "authorization_list.0: authority_is_relayer:"],
    ["code of its own", { code: "0x6000" }, "authorization_list.0: its account has code that is no delegation"],
    [
      "a used nonce",
      { isUsed: true },
      "authorization_list.0.nonce: authorization_used: the account has used the nonce; ask it"
    ],
    [
      "a used nonce, and the delegation",
      { isUsed: true, code },
      "authorization_list.0.nonce: authorization_used: the delegation is there already; send the call without the list"
    ],
    [
      "a delegate that is delegated",
      { delegateCode: code },
      "authorization_list.0.address: is itself a delegated account"
    ]
  ])("with %s: %s", (_, over, expected) => {
    assert.include(faultOf(over), expected)
  })

  it("decides nothing if nobody has answered", () => {
    assert.deepStrictEqual(factViolations([entryOf()], [{ isRelayer: false, isUsed: false }]), [])
  })

  it("warns of a delegate without code, and of an entry for every chain", () => {
    const list = [entryOf({ chainId: 0 }), entryOf({ authority: other }), entryOf({ address: noDelegate })]
    const known = withFacts(list, [facts(), facts({ delegateCode: "0x" }), facts({ delegateCode: "0x" })])
    assert.deepStrictEqual(warningsOf(request({ authorization_list: known })), [
      "authorization 0 has chain id 0, so that it is valid on every chain",
      "the delegate of authorization 1 had no code when it was accepted"
    ])
  })
})

const waiting = pending({ versions: [listed] })
const allowing = lane({ terms: on() })
const states = (...all: ReadonlyArray<Partial<AuthorityState>>): Partial<Seen> => ({
  authorities: all.map((one) => ({ count: 3, code: "0x", isRelayer: false, ...one }))
})
const delegated = `0xef0100${delegate.slice(2)}`
const ahead = seen(states({ count: 2 }))
const since = (code: "authorization_ahead" | "authority_busy") => pending({ versions: [listed], cause: cause(code) })

const before: ReadonlyArray<Case> = [
  ["that was not looked at", "Ask none", waiting, allowing],
  ["whose nonce is the next one", "Sign original sending", waiting, allowing, seen(states({}))],
  ["whose nonce is used", "Finish failed authorization_used", waiting, allowing, seen(states({ count: 4 }))],
  [
    "whose nonce is used, and whose delegation is there",
    "Sign original sending",
    waiting,
    allowing,
    seen(states({ count: 4, code: delegated.toUpperCase().replace("0X", "0x") }))
  ],
  [
    "whose nonce is used by another delegation",
    "Finish failed authorization_used",
    waiting,
    allowing,
    seen(states({ count: 4, code: `0xef0100${"c3".repeat(20)}` }))
  ],
  [
    "whose account is a relayer",
    "Finish failed authority_is_relayer",
    waiting,
    allowing,
    seen(states({ isRelayer: true }))
  ],
  ["whose nonce is ahead", "Hold transaction authorization_ahead", waiting, allowing, ahead],
  [
    "whose nonce is ahead, for less than ten minutes",
    "Hold transaction authorization_ahead",
    since("authorization_ahead"),
    allowing,
    ahead,
    now + 599_999
  ],
  [
    "whose nonce is ahead, for ten minutes",
    "Finish failed authorization_ahead",
    since("authorization_ahead"),
    allowing,
    ahead,
    now + 600_000
  ],
  [
    "whose account has one pending transaction",
    "Sign original sending",
    waiting,
    allowing,
    seen(states({ pendingCount: 4 }))
  ],
  [
    "whose account has two pending transactions",
    "Hold transaction authority_busy",
    waiting,
    allowing,
    seen(states({ pendingCount: 5 }))
  ],
  [
    "about which no provider says enough",
    "Hold transaction providers_unavailable",
    waiting,
    allowing,
    seen({ authorities: [{ isRelayer: false }] })
  ],
  [
    "of which one entry waits and another is used",
    "Finish failed authorization_used",
    pending({ versions: [request({ ...listed, authorization_list: [entryOf(), entryOf({ authority: other })] })] }),
    allowing,
    seen(states({ count: 2 }, { count: 4 }))
  ],
  [
    "that the policy does not allow any more",
    "Finish failed policy_changed",
    waiting,
    lane({ terms: on({ isAllowed: false }) }),
    seen(states({}))
  ],
  [
    "that no provider takes into account",
    "Finish failed estimate_unavailable",
    pending({ versions: [request({ to, authorization_list: [entryOf()], simulate: true })] }),
    allowing,
    seen({ ...states({}), estimate: { _tag: "Unavailable" } })
  ]
]

const inFlight: ReadonlyArray<Case> = [
  ["with a newer list that was not looked at", "Ask none", replacedBy(listed), allowing],
  ["with a newer list", "Sign replace sending", replacedBy(listed), allowing, seen(states({}))],
  [
    "with a newer list that is used",
    "Intend clear authorization_used",
    replacedBy(listed),
    allowing,
    seen(states({ count: 4 }))
  ],
  [
    "with a newer list of a relayer",
    "Intend clear authority_is_relayer",
    replacedBy(listed),
    allowing,
    seen(states({ isRelayer: true }))
  ],
  [
    "with a newer list that is ahead",
    "Hold transaction authorization_ahead",
    replacedBy(listed),
    allowing,
    seen(states({ count: 2 }))
  ],
  [
    "with a newer list that the policy does not allow any more",
    "Intend clear policy_changed",
    replacedBy(listed),
    lane({ terms: on({ isAllowed: false }) }),
    seen(states({}))
  ]
]

describe("a list that is to be signed", () => decisions(before))
describe("a transaction in flight", () => decisions(inFlight))

describe("what authorizations have left", () => {
  const withReceipt = (receipt: Parameters<typeof receiptIn>[1] = {}) => ({
    sights: new Map([[1, { _tag: "Receipt", receipt: receiptIn(100, receipt) } as const]])
  })

  it("is asked for with the receipt, also of a call that reverted, and recorded with it", () => {
    for (const isSuccess of [true, false]) {
      const [question] = commandsOf(carrying(), allowing, seen({ count: 6, ...withReceipt({ isSuccess }) }))
      assert.deepStrictEqual(question, { _tag: "Ask", question: { _tag: "Delegations", ordinal: 1, height: 100 } })
      const view = seen({ count: 6, ...withReceipt({ isSuccess }), delegated: [false] })
      const { mined: recorded } = only(commandsOf(carrying(), allowing, view), "Mine")
      assert.deepStrictEqual(recorded.receipt.details.delegated, [false])
    }
  })

  it("is asked for once more before the end, if no provider said it", () => {
    const open = mined({ versions: [listed] }, 1, { delegated: [null] })
    const view = seen({ count: 6, finalHeight: 100, minedAt: agreed() })
    assert.deepStrictEqual(commandsOf(open, allowing, view)[0], {
      _tag: "Ask",
      question: { _tag: "Delegations", ordinal: 1, height: 100 }
    })
    const { mined: read, state } = only(commandsOf(open, allowing, { ...view, delegated: [true] }), "Finish")
    assert.deepStrictEqual([state, read?.receipt.details.delegated], ["confirmed", [true]])
    const inVain = only(commandsOf(open, allowing, { ...view, delegated: [false] }), "Finish")
    assert.deepStrictEqual([inVain.state, inVain.cause.code], ["confirmed", "authorization_without_effect"])
    const { mined: unread } = only(commandsOf(open, allowing, { ...view, delegated: [null] }), "Finish")
    assert.deepStrictEqual(unread?.receipt.details.delegated, [null])
  })

  it("is not asked for if a no-op was mined, or if there is no list", () => {
    const canceled = carrying({ intent: "cancel", attempts: [attempt(1), noop(2)] })
    const ofNoop = { sights: new Map([[2, { _tag: "Receipt", receipt: receiptIn(100) } as const]]) }
    only(commandsOf(canceled, allowing, seen({ count: 6, ...ofNoop })), "Mine")
    only(commandsOf(submitted(), allowing, seen({ count: 6, ...withReceipt() })), "Mine")
  })

  const identity = {
    id: TransactionId.make("4f1c2c9e-8f0b-4c56-9d5e-0a7b1f1f2a3b"),
    relayerId: RelayerId.make("r1"),
    from: to
  }
  const shown = (transaction: Parameters<typeof show>[0]) => show(transaction, identity).authorizations

  it("is null until it is known, and after a reorganisation", () => {
    const result = (value: boolean | null) => [{ authority, address: delegate, delegated: value }]
    assert.deepStrictEqual(shown(waiting), result(null))
    assert.deepStrictEqual(shown(mined({ versions: [listed] }, 1, { delegated: [true] })), result(true))
    assert.deepStrictEqual(shown(mined({ versions: [listed] }, 1, { delegated: [false] })), result(false))
    assert.deepStrictEqual(shown(mined({ versions: [listed] })), result(null))
    const reverted = submitted({
      versions: [listed],
      mined: { ordinal: 1, receipt: receiptIn(100, { isSuccess: false, delegated: [true] }) }
    })
    assert.deepStrictEqual(shown(reverted), result(true))
    assert.deepStrictEqual(shown(carrying()), result(null))
    assert.isUndefined(shown(submitted()))
  })

  it("is that of the version that was mined", () => {
    const newer = request({ ...listed, authorization_list: [entryOf({ authority: other })] })
    const first = mined({ versions: [listed, newer] }, 1, { delegated: [true] })
    assert.deepStrictEqual(shown(first), [{ authority, address: delegate, delegated: true }])
  })
})
