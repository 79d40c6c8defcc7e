// The guard for envelopes of users and for malformed ones, by the table of attacks, each with a real envelope.
import { Result } from "effect"
import { assert, describe, it } from "@effect/vitest"
import { Operation, xdr } from "@stellar/stellar-sdk/base"
import { guard, outerFeeOf } from "../../../../src/networks/stellar/rules/Guard.ts"
import { passedMethods } from "../../../../src/networks/stellar/rules/StellarRules.ts"
import { isPassed } from "../../../../src/server/transactions/NodePassing.ts"
import {
  addressEntry,
  call,
  feeBump,
  invocation,
  passphrase,
  sourceEntry
} from "../../../../testkit/stellar/Building.ts"
import { counterContract } from "../../../../testkit/stellar/Contracts.ts"
import { signedBy } from "../../../../testkit/stellar/Credits.ts"
import {
  altered,
  attacker,
  built,
  cases,
  channel,
  dust,
  envelopeOf,
  muxed,
  nested,
  now,
  own,
  pay,
  relayer,
  resources,
  sibling,
  terms,
  theirs,
  user,
  v0,
  verdict
} from "./GuardFixtures.ts"
import type { Row } from "./GuardFixtures.ts"

const destination = attacker.publicKey()

const good = theirs([pay()])
const unbounded = altered(good, { cond: xdr.Preconditions.precondNone() })
/** A call with an authorization of an account by its address. */
const authorizing = (address: Parameters<typeof addressEntry>[0]) =>
  call("go", [], { auth: [addressEntry(address, invocation(counterContract, "transfer"))] })
const authorized = (address: Parameters<typeof addressEntry>[0]) => theirs([authorizing(address)], resources)

const changed = (text: string, change: (bytes: Buffer) => Buffer): string =>
  change(Buffer.from(text, "base64")).toString("base64")

/** An envelope whose text ends with two characters of padding. */
const padded =
  [1, 2, 3].map((count) => theirs(Array.from({ length: count }, () => pay()))).find((text) => text.endsWith("==")) ?? ""

/** The last character before the padding has four bits that decoders ignore. They are 0 in the canonical text. */
const uncanonical = padded.replace(/.==$/, (end) => `${String.fromCharCode(end.charCodeAt(0) + 1)}==`)

const rows: ReadonlyArray<Row> = [
  [20, "the source is this relayer", "bump", built(relayer, [pay()], { signers: [user] }), "source_is_own"],
  [20, "the source is a channel", "bump", built(channel, [pay()], { signers: [user] }), "source_is_own"],
  [20, "the source is another relayer", "bump", built(sibling, [pay()], { signers: [user] }), "source_is_own"],
  [
    20,
    "the source is another relayer, which has signed",
    "bump",
    built(sibling, [pay()], { signers: [sibling] }),
    "source_is_own"
  ],
  [21, "an operation of a channel", "bump", theirs([pay(channel)]), "operation_source"],
  [21, "an operation of another relayer", "bump", theirs([pay(sibling)]), "operation_source"],
  [21, "an operation of another relayer's muxed id", "bump", theirs([pay(muxed(sibling))]), "operation_source"],
  [21, "an operation of the relayer", "bump", theirs([pay(relayer)]), "operation_source"],
  [21, "an operation of the relayer's muxed id", "bump", theirs([pay(muxed(relayer))]), "operation_source"],
  [
    21,
    "the relayer sponsors the user's trust line",
    "bump",
    theirs([
      Operation.beginSponsoringFutureReserves({ sponsoredId: user.publicKey(), source: relayer.publicKey() }),
      Operation.changeTrust({ asset: dust }),
      Operation.endSponsoringFutureReserves({})
    ]),
    "operation_source"
  ],
  [
    22,
    "an envelope that the relayer has signed",
    "bump",
    theirs([pay()], { signers: [user, relayer] }),
    "signed_by_own"
  ],
  [22, "an envelope that a channel has signed", "bump", theirs([pay()], { signers: [user, channel] }), "signed_by_own"],
  [
    22,
    "an envelope that another relayer has signed",
    "bump",
    theirs([pay()], { signers: [user, sibling] }),
    "signed_by_own"
  ],
  [
    22,
    "an envelope that only the relayer has signed",
    "bump",
    theirs([pay()], { signers: [relayer] }),
    "signed_by_own"
  ],
  [23, "an authorization of the relayer's address", "bump", authorized(relayer), "auth_of_own_account"],
  [23, "an authorization of a channel", "bump", authorized(channel), "auth_of_own_account"],
  [23, "an authorization of another relayer", "bump", authorized(sibling), "auth_of_own_account"],
  [23, "an authorization of the relayer's muxed id", "bump", authorized(muxed(relayer)), "auth_of_own_account"],
  [
    23,
    "credentials of the source with the relayer as source",
    "bump",
    theirs([call("go", [], { source: relayer, auth: [sourceEntry(invocation(counterContract, "go"))] })], resources),
    "operation_source"
  ],
  [24, "an inner fee of 4,000,000,000 stroops", "bump", theirs([pay()], { fee: 4_000_000_000n }), "fee_above_cap"],
  [
    26,
    "100 operations at a high rate",
    "bump",
    theirs(Array.from({ length: 100 }, () => pay())),
    "fee_above_cap",
    { rate: 10_000n }
  ],
  [27, "no maxTime", "bump", theirs([pay()], { maxTime: 0 }), "time_bounds_missing"],
  [27, "valid for a year", "bump", theirs([pay()], { maxTime: now + 31_536_000 }), "time_bounds_too_long"],
  [27, "valid for 300 seconds", "bump", theirs([pay()], { maxTime: now + 300 }), "accepted"],
  [27, "valid for 301 seconds", "bump", theirs([pay()], { maxTime: now + 301 }), "time_bounds_too_long"],
  [27, "without any time bounds", "bump", unbounded, "time_bounds_missing"],
  [27, "a maxTime that a node refuses soon", "bump", theirs([pay()], { maxTime: now + 10 }), "time_bounds_past"],
  [27, "expired", "bump", theirs([pay()], { maxTime: now - 1 }), "time_bounds_past"],
  [27, "not yet valid", "bump", theirs([pay()], { minTime: now + 30 }), "time_bounds_future"],
  [
    28,
    "signed for another network",
    "bump",
    theirs([pay()], { network: "Public Global Stellar Network ; September 2015" }),
    "signature_invalid"
  ],
  [34, "minSeqNum", "bump", theirs([pay()], { conditions: { minAccountSequence: "1" } }), "preconditions_unsupported"],
  [
    34,
    "minSeqAge",
    "bump",
    theirs([pay()], { conditions: { minAccountSequenceAge: 1n } }),
    "preconditions_unsupported"
  ],
  [
    34,
    "minSeqLedgerGap",
    "unsigned",
    own([pay()], { conditions: { minAccountSequenceLedgerGap: 1 } }),
    "preconditions_unsupported"
  ],
  [
    34,
    "extraSigners",
    "bump",
    theirs([pay()], { conditions: { extraSigners: [destination] } }),
    "preconditions_unsupported"
  ],
  [
    34,
    "a first ledger",
    "bump",
    theirs([pay()], { conditions: { ledgerbounds: { minLedger: 9, maxLedger: 0 } } }),
    "preconditions_unsupported"
  ],
  [35, "a fee bump of a fee bump", "bump", feeBump(user, good, 1000n), "xdr_kind"],
  [35, "the format V0", "bump", v0, "xdr_kind"],
  [35, "the format V0 without fee_bump", "unsigned", v0, "xdr_kind"],
  [36, "nothing", "bump", "", "xdr_encoding"],
  [36, "padding that is missing", "bump", padded.replace(/=+$/, ""), "xdr_encoding"],
  [36, "a line break in place of padding", "bump", padded.replace(/=$/, "\n"), "xdr_encoding"],
  [36, "bits that the padding ignores", "bump", uncanonical, "xdr_not_canonical"],
  [36, "trailing bytes", "bump", changed(good, (bytes) => Buffer.concat([bytes, Buffer.alloc(3)])), "xdr_invalid"],
  [36, "the last byte is missing", "bump", changed(good, (bytes) => bytes.subarray(0, -1)), "xdr_invalid"],
  [36, "white space", "bump", `${good.slice(0, 8)} ${good.slice(8)}`, "xdr_encoding"],
  [36, "a line break at the end", "bump", `${good}\n`, "xdr_encoding"],
  [
    36,
    "the alphabet of URLs",
    "bump",
    Buffer.from(good, "base64").toString("base64url").padEnd(good.length, "="),
    "xdr_encoding"
  ],
  [36, "four characters more than the network takes", "bump", "A".repeat(176_132), "xdr_encoding"],
  [36, "one character more than the network takes", "bump", "A".repeat(176_129), "xdr_encoding"],
  [36, "500 nested vectors", "unsigned", nested(500), "xdr_invalid"],
  [36, "ten nested vectors are no attack", "unsigned", nested(10), "accepted"]
]

describe("the guard of stellar for envelopes of others", () => {
  it.each(cases(rows))("row $number: $attack ($mode)", ({ expected, given, mode, text }) => {
    assert.strictEqual(verdict(mode, text, given), expected)
  })

  it("refuses credentials of a kind that only a newer library knows", () => {
    const { operations, ...envelope } = envelopeOf(theirs([authorizing(user)], resources))
    const [operation] = operations
    if (operation?.type !== "invokeHostFunction") return assert.fail(operation?.type)
    const auth = operation.auth.map((entry) => ({
      ...entry,
      credentials: { kind: "unsupported", name: "addressV3" } as const
    }))
    const result = guard("bump", { ...envelope, operations: [{ ...operation, auth }] }, terms)
    assert.deepStrictEqual(Result.isFailure(result) ? result.failure : undefined, {
      code: "auth_kind_unsupported",
      detail: "operation 1 has credentials of the kind addressV3"
    })
  })

  it("lets a user pay less than the resources in a fee bump, and no envelope of the relayer", () => {
    const cheap = { fee: 999 }
    const inner = signedBy(user, altered(built(user, [call("go")], resources), cheap), passphrase)
    assert.strictEqual(verdict("bump", inner), "accepted")
    assert.strictEqual(outerFeeOf(envelopeOf(inner), terms), 2n * terms.rate + resources.resourceFee)
    assert.strictEqual(verdict("unsigned", altered(own([call("go")], resources), cheap)), "resource_fee")
    assert.strictEqual(verdict("sign", altered(own([call("go")], resources), cheap)), "resource_fee")
  })

  it("refuses a negative fee of resources, and what has no signature or no operation", () => {
    assert.strictEqual(verdict("bump", theirs([call("go")], { resourceFee: -1n })), "resource_fee")
    assert.strictEqual(verdict("bump", built(user, [pay()])), "xdr_unsigned")
    assert.strictEqual(verdict("bump", theirs([])), "operation_count")
    assert.strictEqual(verdict("bump", good), "accepted")
  })

  it.each(
    cases([
      [20, "the source is another relayer", "built", built(sibling, [pay()]), "source_is_own"],
      [21, "an operation of the relayer", "built", built(user, [pay(relayer)]), "operation_source"],
      [
        23,
        "an authorization of the relayer's address",
        "built",
        built(user, [authorizing(relayer)], resources),
        "auth_of_own_account"
      ],
      [
        24,
        "an inner fee of 4,000,000,000 stroops",
        "built",
        built(user, [pay()], { fee: 4_000_000_000n }),
        "fee_above_cap"
      ],
      [27, "valid for 301 seconds", "built", built(user, [pay()], { maxTime: now + 301 }), "time_bounds_too_long"],
      [35, "a fee bump of a fee bump", "built", feeBump(user, good, 1000n), "xdr_kind"],
      [35, "the format V0", "built", v0, "xdr_kind"],
      [0, "a payment of the user", "built", built(user, [pay()]), "accepted"]
    ])
  )("row $number, before the user signs: $attack", ({ expected, mode, text }) => {
    assert.strictEqual(verdict(mode, text), expected)
  })

  it("row 41: never allows sendTransaction through /rpc, whatever the network allows", () => {
    assert.isFalse(isPassed(passedMethods, "sendTransaction", undefined))
    assert.isFalse(isPassed(passedMethods, "sendTransaction", ["sendTransaction"]))
    assert.isTrue(isPassed(passedMethods, "getHealth", undefined))
    assert.isFalse(isPassed(passedMethods, "getHealth", ["getNetwork"]))
  })
})
