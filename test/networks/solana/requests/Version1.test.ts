// Transactions of version 1 over HTTP: those that callers bring, those that the service builds, and those whose users pay.
// The cluster makes blocks by the clock of the machine.
import { Effect, Result } from "effect"
import { assert, layer } from "@effect/vitest"
import { isSignedBy } from "../../../../src/networks/solana/chain/SolanaAccounts.ts"
import type { MessageConfig } from "../../../../src/networks/solana/rules/Message.ts"
import { base64Of, bytesOf } from "../../../../src/networks/solana/rules/SolanaExchanges.ts"
import { maxLoadedBytes, paymentUnits } from "../../../../src/networks/solana/rules/SolanaNumbers.ts"
import * as Wire from "../../../../src/networks/solana/rules/Wire.ts"
import { decodeTransaction } from "../../../../src/networks/solana/rules/Wire.ts"
import * as Tokens from "../../../../testkit/solana/Tokens.ts"
import { memo, receiver, sol, transfer } from "../lane/World.ts"
import * as Paying from "./Paying.ts"
import { api, dataOf, memoOf, recent, relayerAt } from "./Relayers.ts"

const enough: MessageConfig = { computeUnitLimit: 100_000, loadedBytes: maxLoadedBytes }

/** Signed by nobody. */
const built = (payer: string, blockhash: string, text: string, config = enough): string => {
  const message = Wire.buildMessage({ payer, instructions: memoOf(text), blockhash, config })
  return base64Of(Wire.transactionBytes([undefined], Wire.messageBytes(message)))
}

const messageOf = (transaction: string) => Result.getOrThrow(decodeTransaction(bytesOf(transaction))).message

layer(api, { excludeTestServices: true, concurrent: true })("version 1 of solana transactions", (it) => {
  it.effect("is built of instructions if the request asks for it, with its limits in the configuration", () =>
    Effect.gen(function* () {
      const { address, becomes, cluster, send } = yield* relayerAt()
      const body = { ...transfer(address, sol), version: 1, compute_unit_limit: 10_001, compute_unit_price: "1000" }
      const { id } = dataOf(yield* send(body))
      const { fee_paid, transaction } = yield* becomes(id, "confirmed")
      const { config, instructions, version } = messageOf(transaction)
      // 10,001 units at 1,000 micro-lamports: a part of a lamport counts as one.
      const expected = { priorityFee: 11n, computeUnitLimit: 10_001, loadedBytes: maxLoadedBytes }
      assert.deepStrictEqual([version, config, instructions.length], [1, expected, 1])
      assert.strictEqual(fee_paid, "5011")
      assert.strictEqual(cluster.balanceOf(receiver), sol)
      assert.strictEqual(cluster.balanceOf(address), 9n * sol - 5011n)
    })
  )

  it.effect(
    "of own instructions has enough units without a simulation, and no other version unless it is asked for",
    () =>
      Effect.gen(function* () {
        const { becomes, send } = yield* relayerAt()
        const versionOf = Effect.fnUntraced(function* (body: object) {
          const { id } = dataOf(yield* send(body))
          return messageOf((yield* becomes(id, "confirmed")).transaction)
        })
        const { config, version } = yield* versionOf({ ...memo("blind"), version: 1, simulate: false })
        assert.deepStrictEqual([version, config?.computeUnitLimit], [1, 200_000])
        assert.strictEqual((yield* versionOf(memo("usual"))).version, "legacy")
      })
  )

  it.effect("is sent as it came, with more bytes than a packet has", () =>
    Effect.gen(function* () {
      const { address, becomes, cluster, send } = yield* relayerAt()
      const raw = built(address, recent(cluster), "x".repeat(3_800), { ...enough, priorityFee: 77n })
      assert.isAbove(bytesOf(raw).length, 3_950)
      const answer = yield* send({ transaction: raw })
      assert.strictEqual(answer.status, 200, answer.text)
      const { fee_paid, transaction } = yield* becomes(dataOf(answer).id, "confirmed")
      assert.strictEqual(fee_paid, "5077")
      assert.deepStrictEqual(bytesOf(transaction).slice(0, -64), bytesOf(raw).slice(0, -64))
      assert.strictEqual(cluster.successes(address), 1)
    })
  )

  it.effect("keeps its configuration when its blockhash is exchanged", () =>
    Effect.gen(function* () {
      const { address, becomes, cluster, send } = yield* relayerAt()
      const config = { ...enough, priorityFee: 5n, heapBytes: 65_536 }
      cluster.swallows = true
      const raw = built(address, recent(cluster), "refreshed", config)
      const { id } = dataOf(yield* send({ transaction: raw }))
      yield* becomes(id, "submitted")
      cluster.produce(200)
      cluster.swallows = false
      const { attempts, transaction } = yield* becomes(id, "confirmed")
      assert.isAbove(attempts?.length ?? 0, 1)
      const message = messageOf(transaction)
      assert.deepStrictEqual(message, { ...messageOf(raw), blockhash: message.blockhash })
      assert.strictEqual(cluster.successes(address), 1)
    })
  )

  it.effect("that asks for no units and no bytes is not signed, because it can only fail", () =>
    Effect.gen(function* () {
      const { address, becomes, cluster, post, send } = yield* relayerAt()
      const nothing = (text: string) => ({ transaction: built(address, recent(cluster), text, {}) })
      const { code, signature } = yield* becomes(dataOf(yield* send(nothing("send"))).id, "failed")
      assert.deepStrictEqual([code, signature], ["would_fail", undefined])
      const signing = yield* post("/sign-transaction", nothing("sign"))
      assert.include(
        signing.json.error ?? "",
        'would_fail: the simulation fails with "MaxLoadedAccountsDataSizeExceeded"'
      )
      const simulated = yield* post("/transactions/simulate", nothing("simulate"))
      assert.deepInclude(simulated.json.data as object, { verdict: ["would_fail"] })
      assert.strictEqual(cluster.sent.size, 0)
    })
  )

  it.effect("gets the relayer's signature behind the message", () =>
    Effect.gen(function* () {
      const { address, cluster, post } = yield* relayerAt()
      const raw = built(address, recent(cluster), "mine")
      const { transaction } = dataOf(yield* post("/sign-transaction", { transaction: raw }))
      const signed = bytesOf(transaction)
      const message = signed.slice(0, -64)
      assert.deepStrictEqual(message, bytesOf(raw).slice(0, -64))
      assert.isTrue(isSignedBy(signed.slice(-64), message, address))
    })
  )

  it.effect("is built for a user who pays in a token, with units and bytes for the payment", () =>
    Effect.gen(function* () {
      const { address, becomes, cluster, post, send } = yield* relayerAt(Paying.policies)
      Paying.prepare(cluster, address)
      for (const [text, config, units] of [
        ["nothing is set", {}, 200_000],
        ["all is set", { computeUnitLimit: 600, loadedBytes: 1, priorityFee: 1000n }, 600]
      ] as const) {
        const body = { transaction: built(Paying.user, Paying.mint, text, config), fee_token: Paying.mint }
        const answer = yield* post("/transactions/sponsored/build", body)
        assert.strictEqual(answer.status, 200, answer.text)
        const { fee_in_lamports, transaction } = answer.json.data as {
          readonly fee_in_lamports: string
          readonly transaction: string
        }
        const { config: found, keys, version } = messageOf(transaction)
        const expected = { ...config, computeUnitLimit: units + paymentUnits, loadedBytes: maxLoadedBytes }
        assert.deepStrictEqual([version, keys[0], found], [1, address, expected])
        assert.strictEqual(fee_in_lamports, "priorityFee" in config ? "11000" : "10000")
        const { id } = dataOf(yield* send({ transaction: Paying.signedByUser(transaction) }))
        yield* becomes(id, "confirmed")
      }
      // 10,000 and 11,000 lamports at 150 tokens for a SOL.
      assert.strictEqual(Tokens.amountOf(cluster.accountOf(Paying.accountOf(address))), 1500n + 1650n)
    })
  )

  it.effect("without its payment is not signed while users pay", () =>
    Effect.gen(function* () {
      const { address, cluster, post, send } = yield* relayerAt(Paying.policies)
      Paying.prepare(cluster, address)
      const raw = built(address, recent(cluster), "unpaid")
      for (const answer of [
        yield* send({ transaction: raw }),
        yield* post("/sign-transaction", { transaction: raw })
      ]) {
        assert.include(answer.json.error ?? "", "payment_missing")
      }
    })
  )
})
