// Envelopes for which the user pays in a token.
import { assert, describe, it } from "@effect/vitest"
import { Asset, Claimant, Operation, xdr } from "@stellar/stellar-sdk/base"
import { Result } from "effect"
import {
  amountProblem,
  creditOf,
  leastOf,
  notBuiltHere,
  payerProblem,
  paymentIn,
  tokenProblem
} from "../../../../src/domain/transaction/stellar/SponsoredPayment.ts"
import type { PaidAccounts, Trustline } from "../../../../src/domain/transaction/stellar/SponsoredPayment.ts"
import { addressEntry, call, invocation, sourceEntry } from "../../../../testkit/stellar/Building.ts"
import { counterContract } from "../../../../testkit/stellar/Contracts.ts"
import { attacker, built, entryOf, envelopeOf, muxed, native, relayer, user } from "./GuardFixtures.ts"

const usd = new Asset("USD", attacker.publicKey())
const usdName = `USD:${attacker.publicKey()}`

const tree = invocation(counterContract, "go", [], [invocation(native, "transfer", [])])

describe("a sponsored envelope", () => {
  const price = { units: 3n, native: 100n }
  const terms = { relayer: relayer.publicKey(), tokens: [{ asset: usdName }], margin: 0, slippage: 1 }
  const pay = (destination: string, amount: string, asset = usd) => Operation.payment({ destination, asset, amount })
  const theirs = (...operations: ReadonlyArray<xdr.Operation>) =>
    envelopeOf(built(user, operations, { signers: [user] }))

  it("row 39: counts only one plain payment to the exact address in an allowed token", () => {
    const found = (...operations: ReadonlyArray<xdr.Operation>) =>
      Result.match(paymentIn(theirs(...operations), terms), {
        onFailure: ({ code }) => code,
        onSuccess: ({ amount, payer }) => `${amount} of ${payer === user.publicKey() ? "the user" : payer}`
      })
    const exact = pay(relayer.publicKey(), "5")
    assert.strictEqual(found(exact), "50000000 of the user")
    assert.strictEqual(found(pay(attacker.publicKey(), "1"), exact), "50000000 of the user")
    const byOther = Operation.payment({
      destination: relayer.publicKey(),
      asset: usd,
      amount: "5",
      source: attacker.publicKey()
    })
    assert.strictEqual(found(byOther), `50000000 of ${attacker.publicKey()}`)
    const worthless = new Asset("DUST", attacker.publicKey())
    const path = { sendAsset: worthless, destination: relayer.publicKey(), destAsset: usd, path: [] }
    for (const operations of [
      [pay(muxed(relayer), "5")],
      [pay(relayer.publicKey(), "5", worthless)],
      [pay(relayer.publicKey(), "5", Asset.native())],
      [exact, exact],
      [Operation.createClaimableBalance({ asset: usd, amount: "5", claimants: [new Claimant(relayer.publicKey())] })],
      [Operation.pathPaymentStrictSend({ ...path, sendAmount: "5", destMin: "0.0000001" })]
    ]) {
      assert.strictEqual(found(...operations), "payment_insufficient")
    }
    const anyToken = { ...terms, tokens: [{ asset: "native" }] }
    assert.isTrue(Result.isFailure(paymentIn(theirs(pay(relayer.publicKey(), "5", Asset.native())), anyToken)))
  })

  const line: Trustline = {
    balance: 100n,
    limit: 1000n,
    buyingLiabilities: 0n,
    sellingLiabilities: 0n,
    isAuthorized: true,
    hasClawback: false
  }
  const accounts = (over: Partial<PaidAccounts> = {}): PaidAccounts => ({
    issuerClawsBack: false,
    payer: line,
    relayer: line,
    ...over
  })

  it("row 40: refuses a token that its issuer can claw back", () => {
    const code = (over: Partial<PaidAccounts>) => tokenProblem(usdName, accounts(over))?.code
    assert.isUndefined(code({}))
    assert.strictEqual(code({ issuerClawsBack: true }), "fee_token_clawback")
    assert.strictEqual(code({ relayer: { ...line, hasClawback: true } }), "fee_token_clawback")
    assert.strictEqual(code({ relayer: undefined }), "payment_insufficient")
    assert.strictEqual(code({ relayer: { ...line, isAuthorized: false } }), "payment_insufficient")
    assert.isUndefined(code({ relayer: "issuer" }))
  })

  it("is only signed if the user can pay, and the relayer can receive it", () => {
    const token = { asset: usdName }
    const code = (over: Partial<PaidAccounts>, amount = 100n) =>
      payerProblem({ amount, payer: user.publicKey(), token }, accounts(over))?.code
    assert.isUndefined(code({}))
    assert.isUndefined(code({ payer: "issuer" }, 900n))
    assert.strictEqual(code({}, 101n), "payment_insufficient")
    assert.strictEqual(code({ payer: undefined }), "payment_insufficient")
    assert.strictEqual(code({ payer: { ...line, isAuthorized: false } }), "payment_insufficient")
    assert.strictEqual(code({ payer: { ...line, sellingLiabilities: 1n } }), "payment_insufficient")
    assert.strictEqual(code({ payer: "issuer" }, 901n), "payment_insufficient")
    assert.strictEqual(code({ relayer: { ...line, buyingLiabilities: 801n } }), "payment_insufficient")
  })

  it("must cover the present fee less the slippage, rounded up", () => {
    assert.strictEqual(leastOf(10_000n, { price, slippage: 1 }), 297n)
    assert.strictEqual(leastOf(401n, { price, slippage: 0 }), 13n)
    const payment = { asset: usdName, amount: 297n, price, slippage: 1 }
    assert.isUndefined(amountProblem(payment, 10_000n))
    assert.strictEqual(amountProblem({ ...payment, amount: 296n }, 10_000n)?.code, "payment_insufficient")
  })

  it("names a credit by code and issuer", () => {
    const issuer = attacker.publicKey()
    assert.deepStrictEqual(creditOf(`USD:${issuer}`), { code: "USD", issuer })
    for (const other of ["native", "XLM", native, `USD:${issuer.slice(0, -1)}`]) assert.isUndefined(creditOf(other))
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
