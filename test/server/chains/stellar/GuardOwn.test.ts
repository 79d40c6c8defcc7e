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

const rows: ReadonlyArray<Row> = [
  [1, "a payment by a key without limits", "unsigned", own([pay()]), "accepted"],
  [2, "a payment under the strategy user", "unsigned", own([pay()]), "sponsoring_only", { strategy: "user" }],
  [2, "operations under the strategy user", "operations", own([pay()]), "sponsoring_only", { strategy: "user" }],
  [3, "accountMerge", "unsigned", own([Operation.accountMerge({ destination })]), "operation_not_allowed"],
  [
    3,
    "accountMerge that the policy names",
    "unsigned",
    own([Operation.accountMerge({ destination })]),
    "operation_not_allowed",
    { allowedOperations: ["accountMerge"] }
  ],
  [
    4,
    "a signer is added",
    "unsigned",
    own([Operation.setOptions({ signer: { ed25519PublicKey: destination, weight: 255 } })]),
    "operation_not_allowed"
  ],
  [
    4,
    "a payment, then the master key is taken away",
    "unsigned",
    own([pay(), Operation.setOptions({ masterWeight: 0 })]),
    "operation_not_allowed"
  ],
  [
    5,
    "bumpSequence to 2^63−1",
    "unsigned",
    own([Operation.bumpSequence({ bumpTo: String(2n ** 63n - 1n) })]),
    "operation_not_allowed"
  ],
  [
    6,
    "beginSponsoringFutureReserves",
    "unsigned",
    own([Operation.beginSponsoringFutureReserves({ sponsoredId: destination })]),
    "operation_not_allowed"
  ],
  [
    6,
    "revokeSponsorship",
    "unsigned",
    own([Operation.revokeAccountSponsorship({ account: relayer.publicKey() })]),
    "operation_not_allowed"
  ],
  [
    7,
    "createClaimableBalance",
    "unsigned",
    own([
      Operation.createClaimableBalance({ asset: Asset.native(), amount: "9", claimants: [new Claimant(destination)] })
    ]),
    "operation_not_allowed"
  ],
  [
    7,
    "createAccount",
    "unsigned",
    own([Operation.createAccount({ destination, startingBalance: "500" })]),
    "operation_not_allowed"
  ],
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
    "another trust line is removed",
    "unsigned",
    own([Operation.changeTrust({ asset: dust, limit: "0" })]),
    "accepted"
  ],
  [
    9,
    "an offer of XLM for dust",
    "unsigned",
    own([Operation.manageSellOffer({ selling: Asset.native(), buying: dust, amount: "1000", price })]),
    "operation_not_allowed"
  ],
  [
    9,
    "a passive offer",
    "unsigned",
    own([Operation.createPassiveSellOffer({ selling: Asset.native(), buying: dust, amount: "1000", price })]),
    "operation_not_allowed"
  ],
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
    11,
    "clawback",
    "unsigned",
    own([Operation.clawback({ asset: dust, amount: "1", from: user.publicKey() })]),
    "operation_not_allowed"
  ],
  [
    11,
    "flags of a trust line",
    "unsigned",
    own([Operation.setTrustLineFlags({ trustor: user.publicKey(), asset: dust, flags: { authorized: true } })]),
    "operation_not_allowed"
  ],
  [
    12,
    "a deposit into a pool",
    "unsigned",
    own([
      Operation.liquidityPoolDeposit({
        liquidityPoolId: poolId,
        maxAmountA: "1",
        maxAmountB: "1",
        minPrice: "1",
        maxPrice: "1"
      })
    ]),
    "operation_not_allowed"
  ],
  [
    12,
    "a withdrawal from a pool",
    "unsigned",
    own([Operation.liquidityPoolWithdraw({ liquidityPoolId: poolId, amount: "1", minAmountA: "1", minAmountB: "1" })]),
    "operation_not_allowed"
  ],
  [13, "an operation of a channel", "unsigned", own([pay(channel)]), "operation_source"],
  [13, "an operation of the relayer's muxed id", "unsigned", own([pay(muxed(relayer))]), "operation_source"],
  [14, "the source is a channel", "unsigned", built(channel, [pay()]), "source_account_mismatch"],
  [14, "the source is somebody else", "unsigned", built(attacker, [pay()]), "source_account_mismatch"],
  [
    16,
    "an authorization of the relayer's address",
    "unsigned",
    own([call("go", [], { auth: [addressEntry(relayer, invocation(counterContract, "go"))] })], resources),
    "auth_of_own_account"
  ],
  [18, "a call beside a payment", "unsigned", own([pay(), call("go")]), "soroban_not_alone"],
  [19, "a signed envelope without fee_bump", "unsigned", own([pay()], { signers: [user] }), "xdr_signed"],
  [19, "a fee bump without fee_bump", "unsigned", feeBump(user, theirs([pay()]), 1000n), "xdr_signed"],
  [38, "a payment of the relayer, signed only", "sign", own([pay()]), "accepted"],
  [38, "accountMerge, signed only", "sign", own([Operation.accountMerge({ destination })]), "operation_not_allowed"],
  [38, "valid for a year, signed only", "sign", own([pay()], { maxTime: now + 31_536_000 }), "time_bounds_too_long"],
  [38, "without time bounds, signed only", "sign", own([pay()], { maxTime: 0 }), "time_bounds_missing"]
]

describe("the guard of stellar for its own accounts", () => {
  it.each(cases(rows))("row $number: $attack ($mode)", ({ expected, given, mode, text }) => {
    assert.strictEqual(verdict(mode, text, given), expected)
  })

  it("row 18: refuses a memo on a call", () => {
    const text = altered(own([call("go")], resources), { memo: xdr.Memo.memoText("hello") })
    assert.strictEqual(verdict("unsigned", text), "memo")
  })

  it("row 14: refuses the relayer's muxed id as the source", () => {
    const med25519 = new xdr.MuxedAccountMed25519({ id: 7n, ed25519: relayer.rawPublicKey() })
    const text = altered(own([pay()]), { sourceAccount: xdr.MuxedAccount.keyTypeMuxedEd25519(med25519) })
    assert.strictEqual(verdict("unsigned", text), "muxed_source")
  })
})
