// Envelopes for which the user pays in a token.
import { Result } from "effect"
import { assert, describe, it } from "@effect/vitest"
import { Asset, Claimant, Operation } from "@stellar/stellar-sdk/base"
import type { xdr } from "@stellar/stellar-sdk/base"
import {
  amountProblem,
  creditOf,
  leastPayment,
  payerProblem,
  paymentIn,
  tokenProblem
} from "../../../../src/networks/stellar/rules/SponsoredPayment.ts"
import type { PaidAccounts, Trustline } from "../../../../src/networks/stellar/rules/SponsoredPayment.ts"
import { attacker, built, envelopeOf, muxed, native, relayer, user } from "./GuardFixtures.ts"

const usd = new Asset("USD", attacker.publicKey())
const usdName = `USD:${attacker.publicKey()}`

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
    assert.strictEqual(leastPayment(10_000n, { price, slippage: 1 }), 297n)
    assert.strictEqual(leastPayment(401n, { price, slippage: 0 }), 13n)
    const payment = { asset: usdName, amount: 297n, price, slippage: 1 }
    assert.isUndefined(amountProblem(payment, 10_000n))
    assert.strictEqual(amountProblem({ ...payment, amount: 296n }, 10_000n)?.code, "payment_insufficient")
  })

  it("names a credit by code and issuer", () => {
    const issuer = attacker.publicKey()
    assert.deepStrictEqual(creditOf(`USD:${issuer}`), { code: "USD", issuer })
    for (const other of ["native", "XLM", native, `USD:${issuer.slice(0, -1)}`]) assert.isUndefined(creditOf(other))
  })
})
