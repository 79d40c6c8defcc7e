// The guard for envelopes of the relayer's own account, by the table of attacks, each with a real envelope.
import { assert, describe, it } from "@effect/vitest"
import { Asset, Claimant, getLiquidityPoolId, LiquidityPoolAsset, Operation, xdr } from "@stellar/stellar-sdk/base"
import { addressEntry, call, feeBump, invocation } from "../../../../testkit/stellar/Building.ts"
import { counterContract } from "../../../../testkit/stellar/Contracts.ts"
import {
  altered,
  attacker,
  built,
  cases,
  channel,
  dust,
  muxed,
  now,
  own,
  pay,
  relayer,
  resources,
  sibling,
  theirs,
  user,
  verdict
} from "./GuardFixtures.ts"
import type { Row } from "./GuardFixtures.ts"

const destination = attacker.publicKey()
const pool = new LiquidityPoolAsset(Asset.native(), dust, 30)
const poolId = Buffer.from(getLiquidityPoolId("constant_product", pool.getLiquidityPoolParameters())).toString("hex")
const trust = (count: number) =>
  Array.from({ length: count }, (_, index) => Operation.changeTrust({ asset: new Asset(`A${index}`, destination) }))
const price = "0.0000001"
const balanceId = `00000000${"ab".repeat(32)}`

/** The types of the operations, read by the library. */
const typesIn = (text: string): ReadonlyArray<string> => {
  const envelope = xdr.TransactionEnvelope.fromXdr(text, "base64")
  return envelope.type === "envelopeTypeTx" ? envelope.v1.tx.operations.map(({ body }) => body.type) : []
}

/** A call with an authorization of an account by its address. */
const authorized = (address: Parameters<typeof addressEntry>[0]) =>
  own([call("go", [], { auth: [addressEntry(address, invocation(counterContract, "go"))] })], resources)

const refused = (row: number, attack: string, ...operations: ReadonlyArray<xdr.Operation>): Row => [
  row,
  attack,
  "unsigned",
  own(operations),
  "operation_not_allowed"
]

const rows: ReadonlyArray<Row> = [
  [1, "a payment by a key without limits", "unsigned", own([pay()]), "accepted"],
  [1, "a call", "unsigned", own([call("go")], resources), "accepted"],
  [
    1,
    "a longer life of entries",
    "unsigned",
    own([Operation.extendFootprintTtl({ extendTo: 9 })], resources),
    "accepted"
  ],
  [1, "a restore of entries", "unsigned", own([Operation.restoreFootprint({})], resources), "accepted"],
  [2, "a payment under the strategy user", "unsigned", own([pay()]), "sponsoring_only", { strategy: "user" }],
  [2, "operations under the strategy user", "operations", own([pay()]), "sponsoring_only", { strategy: "user" }],
  refused(3, "accountMerge", Operation.accountMerge({ destination })),
  [
    3,
    "accountMerge that the policy names",
    "unsigned",
    own([Operation.accountMerge({ destination })]),
    "operation_not_allowed",
    { allowedOperations: ["accountMerge"] }
  ],
  refused(4, "a signer is added", Operation.setOptions({ signer: { ed25519PublicKey: destination, weight: 255 } })),
  refused(4, "a payment, then the master key is taken away", pay(), Operation.setOptions({ masterWeight: 0 })),
  refused(5, "bumpSequence to 2^63−1", Operation.bumpSequence({ bumpTo: String(2n ** 63n - 1n) })),
  [
    4,
    "setOptions that the policy names",
    "unsigned",
    own([Operation.setOptions({ masterWeight: 0 })]),
    "operation_not_allowed",
    { allowedOperations: ["setOptions"] }
  ],
  [
    5,
    "bumpSequence that the policy names",
    "unsigned",
    own([Operation.bumpSequence({ bumpTo: "9" })]),
    "operation_not_allowed",
    { allowedOperations: ["bumpSequence"] }
  ],
  refused(6, "endSponsoringFutureReserves", Operation.endSponsoringFutureReserves({})),
  refused(6, "beginSponsoringFutureReserves", Operation.beginSponsoringFutureReserves({ sponsoredId: destination })),
  refused(6, "revokeSponsorship", Operation.revokeAccountSponsorship({ account: relayer.publicKey() })),
  refused(
    7,
    "createClaimableBalance",
    Operation.createClaimableBalance({ asset: Asset.native(), amount: "9", claimants: [new Claimant(destination)] })
  ),
  refused(7, "claimClaimableBalance", Operation.claimClaimableBalance({ balanceId })),
  refused(7, "createAccount", Operation.createAccount({ destination, startingBalance: "500" })),
  [
    7,
    "createAccount that the policy allows",
    "unsigned",
    own([Operation.createAccount({ destination, startingBalance: "500" })]),
    "accepted",
    { allowedOperations: ["createAccount"] }
  ],
  [
    8,
    "64 data entries",
    "unsigned",
    own(Array.from({ length: 64 }, (_, index) => Operation.manageData({ name: `k${index}`, value: "v" }))),
    "operation_not_allowed"
  ],
  [8, "20 trust lines", "unsigned", own(trust(20)), "accepted"],
  [8, "21 trust lines", "unsigned", own(trust(21)), "too_many_subentries"],
  [8, "two entries for a share of a pool", "unsigned", own([Operation.changeTrust({ asset: pool })]), "accepted"],
  [
    8,
    "19 trust lines and a share of a pool",
    "unsigned",
    own([...trust(19), Operation.changeTrust({ asset: pool })]),
    "too_many_subentries"
  ],
  [
    8,
    "the trust line of a fee token is removed",
    "unsigned",
    own([Operation.changeTrust({ asset: dust, limit: "0" })]),
    "operation_not_allowed",
    { allowedTokens: [`DUST:${destination}`] }
  ],
  [
    8,
    "the trust line of a fee token gets a limit",
    "unsigned",
    own([Operation.changeTrust({ asset: dust, limit: "1" })]),
    "accepted",
    { allowedTokens: [`DUST:${destination}`] }
  ],
  [
    8,
    "another trust line is removed",
    "unsigned",
    own([Operation.changeTrust({ asset: dust, limit: "0" })]),
    "accepted"
  ],
  refused(
    9,
    "an offer of XLM for dust",
    Operation.manageSellOffer({ selling: Asset.native(), buying: dust, amount: "1000", price })
  ),
  refused(
    9,
    "a passive offer",
    Operation.createPassiveSellOffer({ selling: Asset.native(), buying: dust, amount: "1000", price })
  ),
  refused(
    9,
    "an offer that buys",
    Operation.manageBuyOffer({ selling: Asset.native(), buying: dust, buyAmount: "1000", price: "1000" })
  ),
  [
    10,
    "a path payment",
    "unsigned",
    own([
      Operation.pathPaymentStrictSend({
        sendAsset: Asset.native(),
        sendAmount: "5",
        destination,
        destAsset: dust,
        destMin: "1",
        path: []
      })
    ]),
    "accepted"
  ],
  [
    10,
    "a path payment of an exact amount",
    "unsigned",
    own([
      Operation.pathPaymentStrictReceive({
        sendAsset: Asset.native(),
        sendMax: "5",
        destination,
        destAsset: dust,
        destAmount: "1",
        path: []
      })
    ]),
    "accepted"
  ],
  refused(11, "clawback", Operation.clawback({ asset: dust, amount: "1", from: user.publicKey() })),
  refused(11, "allowTrust", Operation.allowTrust({ trustor: user.publicKey(), assetCode: "DUST", authorize: true })),
  refused(11, "clawback of a claimable balance", Operation.clawbackClaimableBalance({ balanceId })),
  refused(11, "inflation", Operation.inflation({})),
  refused(
    11,
    "flags of a trust line",
    Operation.setTrustLineFlags({ trustor: user.publicKey(), asset: dust, flags: { authorized: true } })
  ),
  refused(
    12,
    "a deposit into a pool",
    Operation.liquidityPoolDeposit({
      liquidityPoolId: poolId,
      maxAmountA: "1",
      maxAmountB: "1",
      minPrice: "1",
      maxPrice: "1"
    })
  ),
  refused(
    12,
    "a withdrawal from a pool",
    Operation.liquidityPoolWithdraw({ liquidityPoolId: poolId, amount: "1", minAmountA: "1", minAmountB: "1" })
  ),
  [13, "an operation of a channel", "unsigned", own([pay(channel)]), "operation_source"],
  [13, "an operation of another relayer", "unsigned", own([pay(sibling)]), "operation_source"],
  [13, "an operation of the relayer's muxed id", "unsigned", own([pay(muxed(relayer))]), "operation_source"],
  [14, "the source is a channel", "unsigned", built(channel, [pay()]), "source_account_mismatch"],
  [14, "the source is another relayer", "unsigned", built(sibling, [pay()]), "source_account_mismatch"],
  [14, "the source is somebody else", "unsigned", built(attacker, [pay()]), "source_account_mismatch"],
  [16, "an authorization of the relayer's address", "unsigned", authorized(relayer), "auth_of_own_account"],
  [16, "an authorization of a channel", "unsigned", authorized(channel), "auth_of_own_account"],
  [16, "an authorization of another relayer", "unsigned", authorized(sibling), "auth_of_own_account"],
  [16, "an authorization of the relayer's muxed id", "unsigned", authorized(muxed(relayer)), "auth_of_own_account"],
  [16, "an authorization of a user", "unsigned", authorized(user), "accepted"],
  [18, "a call beside a payment", "unsigned", own([pay(), call("go")]), "soroban_not_alone"],
  [19, "a signed envelope without fee_bump", "unsigned", own([pay()], { signers: [user] }), "xdr_signed"],
  [19, "a fee bump without fee_bump", "unsigned", feeBump(user, theirs([pay()]), 1000n), "xdr_signed"],
  [38, "a payment of the relayer, signed only", "sign", own([pay()]), "accepted"],
  [38, "accountMerge, signed only", "sign", own([Operation.accountMerge({ destination })]), "operation_not_allowed"],
  [38, "valid for a year, signed only", "sign", own([pay()], { maxTime: now + 31_536_000 }), "time_bounds_too_long"],
  [38, "a fee above the cap, signed only", "sign", own([pay()], { fee: 1_000_001n }), "fee_above_cap"],
  [38, "a fee at the cap, signed only", "sign", own([pay()], { fee: 1_000_000n }), "accepted"],
  [38, "without time bounds, signed only", "sign", own([pay()], { maxTime: 0 }), "time_bounds_missing"]
]

describe("the guard of stellar for its own accounts", () => {
  it.each(cases(rows))("row $number: $attack ($mode)", ({ expected, given, mode, text }) => {
    assert.strictEqual(verdict(mode, text, given), expected)
  })

  it("rows 1 to 12: have each operation of the protocol", () => {
    const tried = rows.flatMap(([, , mode, text]) => (mode === "unsigned" ? typesIn(text) : []))
    assert.sameMembers([...new Set(tried)], [...xdr.OperationType.schema.nameByValue.values()])
  })

  it("row 18: refuses a memo on a call", () => {
    const text = altered(own([call("go")], resources), { memo: xdr.Memo.memoText("hello") })
    assert.strictEqual(verdict("unsigned", text), "memo")
  })

  it("row 18: lets a payment have a memo", () => {
    const text = altered(own([pay()]), { memo: xdr.Memo.memoText("hello") })
    assert.strictEqual(verdict("unsigned", text), "accepted")
  })

  it("row 14: refuses the relayer's muxed id as the source", () => {
    const med25519 = new xdr.MuxedAccountMed25519({ id: 7n, ed25519: relayer.rawPublicKey() })
    const text = altered(own([pay()]), { sourceAccount: xdr.MuxedAccount.keyTypeMuxedEd25519(med25519) })
    assert.strictEqual(verdict("unsigned", text), "muxed_source")
  })
})
