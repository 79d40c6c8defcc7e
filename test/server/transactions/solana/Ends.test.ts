// Answers of a solana relayer about transactions that cannot be sent, or not be taken back.
import { assert, layer } from "@effect/vitest"
import { Effect } from "effect"
import { computeBudgetProgram } from "../../../../src/domain/transaction/solana/Programs.ts"
import { addressOf } from "../../../testkit/solana/World.ts"
import { memo } from "../../lanes/solana/World.ts"
import * as Paying from "./Paying.ts"
import { api, dataOf, memoOf, prebuilt, recent, relayerAt } from "./Relayers.ts"

layer(api, { excludeTestServices: true })("a solana relayer", (it) => {
  it.effect("accepts a prebuilt transaction whose blockhash is dead, and ends it without a signature", () =>
    Effect.gen(function* () {
      const { address, becomes, cluster, send } = yield* relayerAt()
      const sent = yield* send({ transaction: prebuilt(address, addressOf(90), memoOf("dead")) })
      assert.strictEqual(sent.status, 200, sent.text)
      const { attempts, code, signature } = yield* becomes(dataOf(sent).id, "expired")
      assert.deepStrictEqual([code, signature, attempts], ["blockhash_expired", undefined, undefined])
      assert.strictEqual(cluster.sent.size, 0)
    })
  )

  it.effect("answers a cancel after the first signature with the status before it, and signs no new bytes", () =>
    Effect.gen(function* () {
      const { becomes, call, cluster, path, send } = yield* relayerAt()
      cluster.swallows = true
      const { id } = dataOf(yield* send(memo("in flight")))
      yield* becomes(id, "submitted")
      const canceled = yield* call(`${path}/${id}`, { method: "DELETE" })
      assert.strictEqual(canceled.status, 200, canceled.text)
      const { is_canceled, status } = dataOf(canceled)
      assert.deepStrictEqual([status, is_canceled], ["submitted", true])
      yield* becomes(id, "canceled")
      assert.strictEqual(cluster.sent.size, 1)
    })
  )

  it.effect("names the fee and the cap if the fee is above the cap", () =>
    Effect.gen(function* () {
      const { address, cluster, send } = yield* relayerAt()
      const price = { program: computeBudgetProgram, accounts: [], data: Uint8Array.of(3, 0, 0, 0, 0, 0, 1, 0, 0) }
      const transaction = prebuilt(address, recent(cluster), [price, ...memoOf("dear")])
      const { json, status } = yield* send({ transaction })
      assert.strictEqual(status, 400)
      assert.match(json.error ?? "", /fee_above_cap.*costs up to \d{9,} lamports; at most 1000000 are allowed/u)
    })
  )

  it.effect("has no nonces, refuses raw signatures, and builds nothing for users while it is paused", () =>
    Effect.gen(function* () {
      const { address, call, cluster, post, relayer } = yield* relayerAt(Paying.policies)
      Paying.prepare(cluster, address)
      const typed = { domain_separator: "5c".repeat(32), hash_struct_message: "6d".repeat(32) }
      const statuses = [
        (yield* call(`${relayer}/nonce`)).status,
        (yield* call(`${relayer}/transactions/by-nonce/0`)).status,
        (yield* post("/sign", { message: "hello" })).status,
        (yield* post("/sign-typed-data", typed)).status
      ]
      assert.deepStrictEqual(statuses, [501, 501, 400, 400])
      yield* call(relayer, { method: "PATCH", body: { paused: true } })
      const body = { transaction: Paying.wanted("paused"), fee_token: Paying.mint }
      assert.strictEqual((yield* post("/transactions/sponsored/build", body)).status, 403)
      assert.strictEqual((yield* post("/transactions/sponsored/quote", body)).status, 200)
    })
  )
})
