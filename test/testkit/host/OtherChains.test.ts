// The chains of solana and of stellar that the test kit has: their laws, and their bytes beside those of the service.
import { assert, describe, it } from "@effect/vitest"
import { Arbitrary, DateTime, Effect, Schema } from "effect"
import { present } from "../../../src/networks/core/Presentation.ts"
import { derivations, isSignedBy } from "../../../src/networks/solana/chain/SolanaAccounts.ts"
import { systemProgram, tokenProgram } from "../../../src/networks/solana/rules/Programs.ts"
import { base64Of } from "../../../src/networks/solana/rules/SolanaExchanges.ts"
import {
  buildMessage,
  decodeBase58,
  encodeBase58,
  messageBytes,
  transactionBytes
} from "../../../src/networks/solana/rules/Wire.ts"
import { resultIn } from "../../../src/networks/stellar/chain/StellarCalls.ts"
import { buildWith, withSignatures } from "../../../src/networks/stellar/chain/StellarEncoding.ts"
import { library, networkIdOf as serviceNetworkId } from "../../../src/networks/stellar/chain/StellarLibrary.ts"
import { accountMeantBy } from "../../../src/domain/chain/StrKey.ts"
import { TestChain, TestRelayer, Transactions } from "../../../src/testkit/index.ts"
import { keyOf } from "../../../src/testkit/Keys.ts"
import { derivations as ofKit, sealed as sealedOnSolana } from "../../../src/testkit/solana/Bytes.ts"
import * as StellarChain from "../../../src/testkit/stellar/Chain.ts"
import * as StellarWire from "../../../src/testkit/stellar/Wire.ts"
import { property } from "../../../testkit/Depth.ts"
import * as Programs from "./Programs.ts"

describe("the cluster of the test kit", () => {
  const kitOf = (options?: Parameters<typeof TestChain.solana>[0]) =>
    TestRelayer.layer({ network: TestChain.solana(options) })
  const payment = Programs.payments.solana

  const sent = Effect.gen(function* () {
    const { address, id: relayer } = yield* Programs.relayer
    const chain = yield* TestChain
    const { id } = yield* (yield* Transactions).send(relayer, chain.bodyOf(address, payment))
    return { address, relayer, id, chain }
  })

  it.effect("keeps nothing that a block has not taken: bytes that are not sent again do not land", () =>
    Effect.gen(function* () {
      const chain = yield* TestChain
      yield* chain.holdBack(true)
      const { id, relayer } = yield* sent
      yield* chain.mineUntil("the payment is sent", chain.isSent(payment))
      yield* Effect.andThen(chain.kill(0), chain.kill(1))
      yield* chain.mine()
      yield* chain.holdBack(false)
      yield* chain.mine(10)
      assert.isFalse(yield* chain.isMined(payment))
      yield* Effect.andThen(chain.revive(0), chain.revive(1))
      assert.strictEqual((yield* chain.mineUntilFinal(relayer, id)).status, "confirmed")
    }).pipe(Effect.provide(kitOf()))
  )

  it.effect("executes bytes once, however often they are sent", () =>
    Effect.gen(function* () {
      const { chain, id, relayer } = yield* sent
      // Nobody shows the block for a while, so that the relayer sends the bytes again.
      yield* Effect.andThen(chain.lag(20, 0), chain.lag(20, 1))
      const shown = yield* chain.mineUntilFinal(relayer, id)
      assert.isAbove("attempts" in shown ? (shown.attempts?.[0]?.sends ?? 0) : 0, 1)
      assert.strictEqual(yield* chain.payments(payment), 1)
    }).pipe(Effect.provide(kitOf()))
  )

  it.effect("charges the fee of a transaction that fails, and moves nothing", () =>
    Effect.gen(function* () {
      const chain = yield* TestChain
      yield* chain.revert(payment.to)
      const { address, id, relayer } = yield* sent
      const before = yield* chain.balanceOf(address)
      const shown = yield* chain.mineUntilFinal(relayer, id)
      assert.deepStrictEqual([shown.status, shown.code], ["failed", "failed_on_chain"])
      assert.strictEqual(before - (yield* chain.balanceOf(address)), 5000n)
      assert.strictEqual(yield* chain.balanceOf(payment.to), 100n * 10n ** 9n)
    }).pipe(Effect.provide(kitOf()))
  )

  it.effect("shows a payment as mined while the provider that is asked first lies, and as submitted afterwards", () =>
    Effect.gen(function* () {
      const chain = yield* TestChain
      yield* chain.holdBack(true)
      const { id, relayer } = yield* sent
      const status = Effect.map((yield* Transactions).get(relayer, id), (shown) => shown.status)
      yield* chain.mineUntil("the payment is sent", chain.isSent(payment))
      yield* chain.lie(payment)
      yield* chain.mine(10)
      assert.strictEqual(yield* status, "mined")
      // The other provider does not have the block, however deep it is.
      yield* chain.mine(50)
      assert.strictEqual(yield* status, "mined")
      yield* chain.tellTruth
      yield* chain.mine(10)
      assert.strictEqual(yield* status, "submitted")
      yield* chain.holdBack(false)
      assert.strictEqual((yield* chain.mineUntilFinal(relayer, id)).status, "confirmed")
    }).pipe(Effect.provide(kitOf()))
  )

  it.effect("ends a payment that its simulations refuse, without bytes", () =>
    Effect.gen(function* () {
      const chain = yield* TestChain
      yield* chain.failEstimates(payment.to)
      const { id, relayer } = yield* sent
      const ended = yield* chain.mineUntilFinal(relayer, id)
      assert.deepStrictEqual([ended.status, ended.code], ["failed", "would_fail"])
      assert.isFalse(yield* chain.isSent(payment))
    }).pipe(Effect.provide(kitOf()))
  )

  it.effect("holds a payment without funds, and goes on when the account is funded", () =>
    Effect.gen(function* () {
      const { address, id: relayer } = yield* Programs.relayer
      const chain = yield* TestChain
      const transactions = yield* Transactions
      const body = { ...chain.bodyOf(address, payment), wait_for_funds: true }
      const { id } = yield* transactions.send(relayer, body)
      yield* chain.mine(10)
      assert.strictEqual((yield* transactions.explain(relayer, id)).code, "insufficient_funds")
      yield* chain.fund(address, 10n ** 9n)
      assert.strictEqual((yield* chain.mineUntilFinal(relayer, id)).status, "confirmed")
    }).pipe(Effect.provide(kitOf({ funds: 0n })))
  )

  it.effect("ends a prebuilt transaction whose blockhash nobody knows", () =>
    Effect.gen(function* () {
      const { address, id: relayer } = yield* Programs.relayer
      const chain = yield* TestChain
      const message = buildMessage({
        payer: address,
        instructions: [
          { program: systemProgram, accounts: [{ address: payment.to, isWritable: true }], data: new Uint8Array() }
        ],
        blockhash: address
      })
      const transaction = base64Of(transactionBytes([undefined], messageBytes(message)))
      const { id } = yield* (yield* Transactions).send(relayer, { transaction })
      const ended = yield* chain.mineUntilFinal(relayer, id)
      assert.deepStrictEqual([ended.status, ended.code], ["expired", "blockhash_expired"])
      const again = yield* (yield* Transactions).send(relayer, { transaction })
      assert.strictEqual(again.id, id)
    }).pipe(Effect.provide(kitOf()))
  )

  it.effect("refuses what it does not have, and says so", () =>
    Effect.gen(function* () {
      const { address, id: relayer } = yield* TestRelayer.make({ policies: { fee_payment_strategy: "user" } })
      const chain = yield* TestChain
      const transactions = yield* Transactions
      const refused = yield* Effect.flip(transactions.send(relayer, chain.bodyOf(address, payment)))
      assert.include(
        refused.message,
        "instructions: cannot be used while the relayer's policy has fee_payment_strategy user"
      )
      const died = yield* Effect.exit(chain.takeNonce(Programs.key))
      assert.include(String(died), "accounts of solana have no nonce")
      const unknown = yield* Effect.flip(transactions.byNonce(relayer, 0))
      assert.strictEqual(unknown._tag, "NotImplemented")
    }).pipe(Effect.provide(kitOf()))
  )
})

describe("the stellar network of the test kit", () => {
  const kitOf = (options?: Parameters<typeof TestChain.stellar>[0]) =>
    TestRelayer.layer({ network: TestChain.stellar(options) })
  const payment = Programs.payments.stellar

  it.effect("charges the fee of a payment that fails, and moves nothing", () =>
    Effect.gen(function* () {
      const { address, id: relayer } = yield* Programs.relayer
      const chain = yield* TestChain
      yield* chain.revert(payment.to)
      const before = yield* chain.balanceOf(address)
      const { id } = yield* (yield* Transactions).send(relayer, chain.bodyOf(address, payment))
      const shown = yield* chain.mineUntilFinal(relayer, id)
      assert.deepStrictEqual([shown.status, shown.code], ["failed", "operation_failed"])
      assert.strictEqual(before - (yield* chain.balanceOf(address)), 100n)
      assert.strictEqual(yield* chain.balanceOf(payment.to), 100n * 10n ** 7n)
    }).pipe(Effect.provide(kitOf()))
  )

  it.effect("lets a payment wait while a ledger costs more than it may, and makes it when prices fall", () =>
    Effect.gen(function* () {
      const { address, id: relayer } = yield* Programs.relayer
      const chain = yield* TestChain
      const transactions = yield* Transactions
      yield* chain.holdBack(true)
      const valid_until = DateTime.makeUnsafe(600_000)
      const { id } = yield* transactions.send(relayer, { ...chain.bodyOf(address, payment), valid_until })
      yield* chain.mineUntil("the payment is sent", chain.isSent(payment))
      yield* chain.setBaseFee(10_000_000n)
      yield* chain.holdBack(false)
      // Longer than an envelope lives.
      yield* chain.mine(20)
      assert.strictEqual((yield* transactions.explain(relayer, id)).code, "fee_above_cap")
      yield* chain.setBaseFee(100n)
      assert.strictEqual((yield* chain.mineUntilFinal(relayer, id)).status, "confirmed")
      assert.strictEqual(yield* chain.payments(payment), 1)
    }).pipe(Effect.provide(kitOf()))
  )

  it.effect("ends nothing by what one of two providers shows", () =>
    Effect.gen(function* () {
      const { address, id: relayer } = yield* Programs.relayer
      const chain = yield* TestChain
      const transactions = yield* Transactions
      yield* chain.holdBack(true)
      const { id } = yield* transactions.send(relayer, chain.bodyOf(address, payment))
      yield* chain.mineUntil("the payment is sent", chain.isSent(payment))
      yield* chain.lie(payment)
      yield* chain.mine(4)
      const shown = yield* transactions.get(relayer, id)
      assert.deepStrictEqual([shown.status, shown.code], ["submitted", "providers_disagree"])
      yield* chain.tellTruth
      yield* chain.holdBack(false)
      assert.strictEqual((yield* chain.mineUntilFinal(relayer, id)).status, "confirmed")
    }).pipe(Effect.provide(kitOf()))
  )

  it.effect("keeps an envelope in its queue for four ledgers, and takes it again when it is sent again", () =>
    Effect.gen(function* () {
      const { address, id: relayer } = yield* Programs.relayer
      const chain = yield* TestChain
      yield* chain.holdBack(true)
      const { id } = yield* (yield* Transactions).send(relayer, chain.bodyOf(address, payment))
      yield* chain.mineUntil("the payment is sent", chain.isSent(payment))
      yield* Effect.andThen(chain.kill(0), chain.kill(1))
      yield* chain.mine(6)
      yield* chain.holdBack(false)
      yield* chain.mine()
      assert.isFalse(yield* chain.isMined(payment))
      yield* Effect.andThen(chain.revive(0), chain.revive(1))
      assert.strictEqual((yield* chain.mineUntilFinal(relayer, id)).status, "confirmed")
    }).pipe(Effect.provide(kitOf()))
  )

  it.effect("holds a payment without funds, and goes on when the account is funded", () =>
    Effect.gen(function* () {
      const { address, id: relayer } = yield* Programs.relayer
      const chain = yield* TestChain
      const transactions = yield* Transactions
      const { id } = yield* transactions.send(relayer, { ...chain.bodyOf(address, payment), wait_for_funds: true })
      yield* chain.mine(2)
      assert.strictEqual((yield* transactions.explain(relayer, id)).code, "insufficient_funds")
      yield* chain.fund(address, 10n ** 9n)
      assert.strictEqual((yield* chain.mineUntilFinal(relayer, id)).status, "confirmed")
    }).pipe(Effect.provide(kitOf({ funds: 0n })))
  )

  it.effect("refuses what it does not have, and says so", () =>
    Effect.gen(function* () {
      const { id: relayer } = yield* Programs.relayer
      const chain = yield* TestChain
      const transactions = yield* Transactions
      const network = chain.network.name
      const call = yield* Effect.flip(transactions.send(relayer, { network, transaction_xdr: "AAAA" }))
      assert.include(call.message, "transaction_xdr: the test kit has payments of XLM alone")
      const died = yield* Effect.exit(chain.reorganise(1))
      assert.include(String(died), "ledgers of stellar are final when they close")
    }).pipe(Effect.provide(kitOf()))
  )
})

describe("what the kit derives from keys of solana", () => {
  const byte = Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: 255 }))
  const keyBytes = Arbitrary.schema(Schema.Array(byte).check(Schema.isBetweenLength(32, 32)))

  it.effect.prop(
    "is what the service derives",
    [keyBytes, keyBytes, keyBytes],
    ([one, other, bytes]) =>
      Effect.sync(() => {
        const [wallet, mint] = [encodeBase58(Uint8Array.from(one)), encodeBase58(Uint8Array.from(other))]
        const seed = Uint8Array.from(bytes)
        assert.strictEqual(
          ofKit.associated(wallet, mint, tokenProgram),
          derivations.associated(wallet, mint, tokenProgram)
        )
        assert.strictEqual(ofKit.withSeed(wallet, seed, mint), derivations.withSeed(wallet, seed, mint))
      }),
    property()
  )

  it("signs bytes that the service takes for those of the account", () => {
    const { addresses, secret } = keyOf(Programs.key)
    const message = buildMessage({ payer: addresses.solana, instructions: [], blockhash: addresses.solana })
    const bytes = messageBytes(message)
    const wire = { message, messageBytes: bytes, signatures: [undefined], size: bytes.length }
    const { hash, isSigned, raw } = sealedOnSolana(wire, secret)
    assert.isTrue(isSigned)
    assert.isTrue(isSignedBy(decodeBase58(hash, 64) ?? new Uint8Array(), bytes, addresses.solana))
    assert.deepStrictEqual(transactionBytes([decodeBase58(hash, 64)], bytes), raw)
  })
})

describe("envelopes and results of the kit", () => {
  const networkId = Uint8Array.from(serviceNetworkId("Network of the test kit"))
  const { addresses, secret } = keyOf(Programs.key)
  const muxed = "MADQOBYHA4DQOBYHA4DQOBYHA4DQOBYHA4DQOBYHA4DQOBYHA4DQOBYHA4DQOBYHA6OSU"

  it.effect.each([
    undefined,
    { type: "text", value: "invoice 17" },
    { type: "id", value: 2n ** 63n },
    { type: "hash", value: "ab".repeat(32) }
  ] as const)("are those that the service builds and reads, with the memo %o", (memo) =>
    Effect.gen(function* () {
      const payments = [Programs.payments.stellar, { to: muxed, value: 2n ** 40n }]
      const own = { source: addresses.stellar, fee: 300n, sequence: 2n ** 33n, maxTime: 1_800_000_000n }
      const made = StellarWire.sealed({ ...own, memo, payments }, secret, networkId)
      const lib = yield* library
      const operations = payments.map(({ to, value }) => ({
        type: "payment" as const,
        destination: to,
        amount: value,
        asset: { type: "native" as const }
      }))
      const { envelope, hash } = buildWith(lib, { ...own, operations, ...present("memo", memo) }, networkId)
      assert.strictEqual(Buffer.from(hash).toString("hex"), made.hash)
      const signature = made.raw.slice(-64)
      const signed = withSignatures(lib, envelope, [{ address: addresses.stellar, signature }])
      assert.deepStrictEqual(Uint8Array.from(signed.toXdr()), made.raw)
      assert.isTrue(made.isSigned)
      // The account that a muxed address means is paid.
      assert.deepStrictEqual(made.payments[1], { to: accountMeantBy(muxed), value: 2n ** 40n })
      assert.deepStrictEqual(made.memo, memo)
    })
  )

  it.effect("have the names that the service reads", () =>
    Effect.gen(function* () {
      const lib = yield* library
      const readOf = (bytes: Uint8Array) => resultIn(lib, Buffer.from(bytes).toString("base64"))
      for (const code of Object.keys(StellarWire.resultCodes).filter(StellarChain.isResult)) {
        const operations = code === "txSuccess" ? (["paymentSuccess"] as const) : ([] as const)
        assert.deepStrictEqual(readOf(StellarWire.resultOf(code, 100n, operations)), { code, fee: 100n, operations })
      }
      const failed = readOf(StellarWire.resultOf("txFailed", 100n, ["paymentNoDestination"]))
      assert.deepStrictEqual(failed?.operations, ["paymentNoDestination"])
    })
  )
})
