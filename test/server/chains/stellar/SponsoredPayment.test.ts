// Envelopes for which the user pays in a token.
import { assert, describe, it } from "@effect/vitest"
import { Asset, Claimant, Operation, xdr } from "@stellar/stellar-sdk/base"
import {
  accepted,
  clawbackProblem,
  notBuiltHere,
  paymentProblem,
  quoted
} from "../../../../src/domain/transaction/stellar/SponsoredPayment.ts"
import { addressEntry, call, invocation, sourceEntry } from "../../../../testkit/stellar/Building.ts"
import { counterContract } from "../../../../testkit/stellar/Contracts.ts"
import { attacker, built, entryOf, envelopeOf, muxed, native, now, relayer, user } from "./GuardFixtures.ts"

const usd = new Asset("USD", attacker.publicKey())
const usdName = `USD:${attacker.publicKey()}`

const tree = invocation(counterContract, "go", [], [invocation(native, "transfer", [])])

describe("a sponsored envelope", () => {
  const price = { units: 3n, native: 100n }
  const sponsoring = { relayer: relayer.publicKey(), allowedTokens: [usdName], least: () => 50_000_000n, now }
  const pay = (destination: string, amount: string, asset = usd) => Operation.payment({ destination, asset, amount })
  const theirs = (...operations: ReadonlyArray<xdr.Operation>) =>
    envelopeOf(built(user, operations, { signers: [user] }))

  it("row 39: counts only one plain payment to the exact address in an allowed token", () => {
    const problem = (...operations: ReadonlyArray<xdr.Operation>) =>
      paymentProblem(theirs(...operations), sponsoring)?.code
    const exact = pay(relayer.publicKey(), "5")
    assert.isUndefined(problem(exact))
    assert.isUndefined(problem(pay(attacker.publicKey(), "1"), exact))
    const worthless = new Asset("DUST", attacker.publicKey())
    const path = { sendAsset: worthless, destination: relayer.publicKey(), destAsset: usd, path: [] }
    for (const operations of [
      [pay(muxed(relayer), "5")],
      [pay(relayer.publicKey(), "5", worthless)],
      [pay(relayer.publicKey(), "4.9999999")],
      [exact, exact],
      [Operation.createClaimableBalance({ asset: usd, amount: "5", claimants: [new Claimant(relayer.publicKey())] })],
      [Operation.pathPaymentStrictSend({ ...path, sendAmount: "5", destMin: "0.0000001" })],
      []
    ]) {
      assert.strictEqual(
        operations.length === 0 ? "payment_insufficient" : problem(...operations),
        "payment_insufficient"
      )
    }
    assert.strictEqual(
      paymentProblem(theirs(exact), { ...sponsoring, least: () => undefined })?.code,
      "payment_insufficient"
    )
    const long = envelopeOf(built(user, [exact], { signers: [user], maxTime: now + 121 }))
    assert.strictEqual(paymentProblem(long, sponsoring)?.code, "time_bounds_too_long")
  })

  it("row 40: refuses a token that its issuer can claw back", () => {
    assert.strictEqual(clawbackProblem(usdName, true)?.code, "fee_token_clawback")
    assert.isUndefined(clawbackProblem(usdName, false))
  })

  it("is priced exactly, rounded up, with margin and slippage", () => {
    assert.strictEqual(quoted(401n, price, 0), 13n)
    assert.strictEqual(quoted(10_000n, price, 5.5), 317n)
    assert.strictEqual(accepted(10_000n, price, 1), 297n)
    const large = 2n ** 63n - 1n
    assert.strictEqual(quoted(large, { units: 1n, native: 1n }, 0), large)
  })

  it("row 37: is only taken back as it was built, with the signature of the entry added", () => {
    const entry = addressEntry(user, tree, 500)
    const envelope = theirs(call("go", [], { auth: [entry] }))
    const stored = { hash: envelope.hash, entry: entryOf(entry).unsigned }
    const find = (hash: string) => (hash === stored.hash ? stored : undefined)
    const signed = new xdr.SorobanAuthorizationEntry({
      credentials: xdr.SorobanCredentials.sorobanCredentialsAddress(
        new xdr.SorobanAddressCredentials({
          address: xdr.ScAddress.scAddressTypeAccount(user.xdrPublicKey()),
          nonce: 7n,
          signatureExpirationLedger: 500,
          signature: xdr.ScVal.scvBool(true)
        })
      ),
      rootInvocation: tree
    })
    assert.isUndefined(notBuiltHere(envelope, entryOf(signed), find))
    const others = [
      addressEntry(user, invocation(native, "go"), 500),
      addressEntry(attacker, tree, 500),
      addressEntry(user, tree, 501),
      sourceEntry(tree)
    ]
    for (const other of others) assert.strictEqual(notBuiltHere(envelope, entryOf(other), find)?.code, "not_built_here")
    assert.strictEqual(notBuiltHere(theirs(call("other")), entryOf(signed), find)?.code, "not_built_here")
  })
})
