// What the limits of an API key count on stellar, and what they refuse.
import { assert, describe, it } from "@effect/vitest"
import * as lib from "@stellar/stellar-sdk/base"
import { Asset, Claimant, Operation } from "@stellar/stellar-sdk/base"
import type { xdr } from "@stellar/stellar-sdk/base"
import { exceededLimit, sendsOf } from "../../../../src/networks/stellar/rules/Envelope.ts"
import {
  addressEntry,
  addressValue,
  amountValue,
  call,
  invocation,
  payment,
  sourceEntry
} from "../../../../testkit/stellar/Building.ts"
import { counterContract } from "../../../../testkit/stellar/Contracts.ts"
import { attacker, built, channel, envelopeOf, muxed, native, relayer, sibling, terms, user } from "./GuardFixtures.ts"

const resources = { resourceFee: 100_000n }
const usd = new Asset("USD", attacker.publicKey())
const pool = new lib.LiquidityPoolAsset(Asset.native(), usd, 30)

const transferArgs = (amount: bigint) => [addressValue(relayer), addressValue(attacker), amountValue(amount)]

/** A call of the attacker's contract, with what the relayer authorizes. */
const attack = (auth: ReadonlyArray<xdr.SorobanAuthorizationEntry>) =>
  envelopeOf(built(relayer, [call("go", [], { auth })], resources))

const tree = invocation(counterContract, "go", [], [invocation(native, "transfer", transferArgs(5n))])

describe("the limits of an API key on stellar", () => {
  const own = (...operations: ReadonlyArray<xdr.Operation>) => envelopeOf(built(relayer, operations))
  const to = attacker.publicKey()

  it.each([
    ["a payment", [payment(attacker, 7n)], 7n, [to]],
    ["a payment of credit", [Operation.payment({ destination: to, asset: usd, amount: "5" })], 0n, [to]],
    ["a payment to a muxed id", [payment(muxed(attacker), 7n)], 7n, [to]],
    [
      "row 10: sendMax of a path payment",
      [
        Operation.pathPaymentStrictReceive({
          sendAsset: Asset.native(),
          sendMax: "5",
          destination: to,
          destAsset: usd,
          destAmount: "1",
          path: []
        })
      ],
      50_000_000n,
      [to]
    ],
    [
      "row 8: 0.5 XLM per trust line",
      [Operation.changeTrust({ asset: usd }), Operation.changeTrust({ asset: usd, limit: "0" })],
      5_000_000n,
      []
    ],
    ["row 8: 1 XLM for a share of a pool", [Operation.changeTrust({ asset: pool })], 10_000_000n, []],
    [
      "row 10: sendAmount of a path payment",
      [
        Operation.pathPaymentStrictSend({
          sendAsset: Asset.native(),
          sendAmount: "5",
          destination: to,
          destAsset: usd,
          destMin: "1",
          path: []
        })
      ],
      50_000_000n,
      [to]
    ],
    [
      "the balance of a new account",
      [Operation.createAccount({ destination: to, startingBalance: "3" })],
      30_000_000n,
      [to]
    ],
    [
      "an offer",
      [Operation.manageSellOffer({ selling: Asset.native(), buying: usd, amount: "2", price: "1" })],
      20_000_000n,
      []
    ],
    [
      "a bought offer",
      [Operation.manageBuyOffer({ selling: Asset.native(), buying: usd, buyAmount: "2", price: "3" })],
      60_000_000n,
      []
    ],
    [
      "a claimable balance",
      [Operation.createClaimableBalance({ asset: Asset.native(), amount: "9", claimants: [new Claimant(to)] })],
      90_000_000n,
      [to]
    ]
  ])("count %s", (_, operations, value, receivers) => {
    const sends = sendsOf(own(...operations), terms)
    assert.deepStrictEqual([sends.value, sends.receivers], [value, receivers])
  })

  const nativeCall = (name: string, args: ReadonlyArray<xdr.ScVal>) =>
    attackOn(native, name, args, [sourceEntry(invocation(native, name, args))])
  const attackOn = (
    contract: string,
    name: string,
    args: ReadonlyArray<xdr.ScVal>,
    auth: ReadonlyArray<xdr.SorobanAuthorizationEntry>
  ) => envelopeOf(built(relayer, [call(name, args, { contract, auth })], resources))

  it("row 42: count transfer and approve of the native asset's contract, and refuse what cannot be read", () => {
    const transfer = nativeCall("transfer", transferArgs(9n))
    assert.deepInclude(sendsOf(transfer, terms), { value: 9n, receivers: [to] })
    const until = lib.nativeToScVal(500, { type: "u32" })
    assert.deepInclude(sendsOf(nativeCall("approve", [...transferArgs(9n), until]), terms), {
      value: 9n,
      receivers: [to]
    })
    assert.strictEqual(exceededLimit(transfer, terms, { maxValue: 8n })?.code, "key_limits")
    assert.isUndefined(exceededLimit(transfer, terms, { maxValue: 9n, receivers: [muxed(attacker)] }))
    assert.strictEqual(exceededLimit(transfer, terms, { receivers: [user.publicKey()] })?.code, "key_limits")
    for (const unreadable of [
      nativeCall("burn", transferArgs(1n)),
      nativeCall("transfer", []),
      nativeCall("transfer", transferArgs(-1n))
    ]) {
      assert.strictEqual(exceededLimit(unreadable, terms, { maxValue: 10n ** 18n })?.code, "key_limits")
    }
  })

  it("row 42: count the native asset's contract below a root, and allow only listed contracts there", () => {
    const below = attack([sourceEntry(tree)])
    assert.deepInclude(sendsOf(below, terms), { value: 5n, receivers: [counterContract, to] })
    assert.isUndefined(exceededLimit(below, terms, { maxValue: 5n }))
    assert.strictEqual(exceededLimit(below, terms, { maxValue: 4n })?.code, "key_limits")
    const other = lib.Asset.native().contractId("Another Network")
    const foreign = attack([sourceEntry(invocation(counterContract, "go", [], [invocation(other, "go")]))])
    assert.strictEqual(exceededLimit(foreign, terms, { maxValue: 10n })?.code, "key_limits")
    assert.isUndefined(exceededLimit(foreign, terms, { maxValue: 10n, receivers: [counterContract, other] }))
    assert.strictEqual(exceededLimit(attack([]), terms, { receivers: [to] })?.code, "key_limits")
    assert.isUndefined(exceededLimit(attack([]), terms, { receivers: [counterContract] }))
  })

  it("row 42: count below a call of the native asset's contract, and what an account of the service authorizes by its address", () => {
    const deeper = invocation(native, "transfer", transferArgs(1n), [invocation(native, "transfer", transferArgs(5n))])
    assert.strictEqual(sendsOf(attack([sourceEntry(deeper)]), terms).value, 6n)
    for (const account of [relayer, channel, sibling]) {
      assert.strictEqual(sendsOf(attack([addressEntry(account, tree)]), terms).value, 5n)
    }
  })

  it("row 42: do not count what others authorize", () => {
    const theirs = attackOn(native, "transfer", transferArgs(9n), [
      addressEntry(user, invocation(native, "transfer", transferArgs(9n)))
    ])
    assert.strictEqual(sendsOf(theirs, terms).value, 0n)
  })
})
