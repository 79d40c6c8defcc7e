// `POST …/sign-transaction` of solana relayers: bytes that a caller sends itself pass every rule of a send, and are signed once.
// The cluster makes blocks by the clock of the machine.
import { Effect, Result } from "effect"
import { assert, layer } from "@effect/vitest"
import { systemProgram } from "../../../../src/networks/solana/rules/Programs.ts"
import { bytesOf } from "../../../../src/networks/solana/rules/SolanaExchanges.ts"
import * as Documented from "../../../../testkit/Documented.ts"
import { finality } from "../../../../testkit/solana/Cluster.ts"
import { makeKey } from "../../../server/transactions/Fixtures.ts"
import { release } from "../lane/Ends.ts"
import { memo, receiver } from "../lane/World.ts"
import { api, dataOf, memoOf, prebuilt, recent, relayerAt } from "./Relayers.ts"

const sign = "/sign-transaction"

/** A transfer of a lamport out of an account. */
const drain = (from: string) => [
  {
    program: systemProgram,
    accounts: [
      { address: from, isWritable: true },
      { address: receiver, isWritable: true }
    ],
    data: Uint8Array.from([2, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0])
  }
]

layer(api, { excludeTestServices: true })("a transaction that a caller gets signed", (it) => {
  it.effect("lands when the caller sends it, and the same request returns the same bytes", () =>
    Effect.gen(function* () {
      const { address, cluster, post, path, call } = yield* relayerAt()
      const transaction = prebuilt(address, recent(cluster), memoOf("mine"))
      const first = yield* post(sign, { transaction })
      assert.strictEqual(first.status, 200, first.text)
      assert.deepStrictEqual(Documented.faultsOf("post /api/v1/relayers/{relayer_id}/sign-transaction", first), [])
      const again = yield* post(sign, { transaction: [...bytesOf(transaction)] })
      assert.deepStrictEqual(dataOf(again), dataOf(first))
      assert.isTrue(Result.isSuccess(cluster.take(bytesOf(dataOf(first).transaction))))
      cluster.produce(1)
      assert.strictEqual(cluster.successes(address), 1)
      const { json } = yield* call(path)
      assert.deepStrictEqual(json.data, [], "it is no transaction of the service")
    })
  )

  it.effect("is refused if a transaction has its bytes, also if the service built them, and reserves nothing", () =>
    Effect.gen(function* () {
      // Its blocks come slowly, so that no blockhash dies in the test.
      const { address, becomes, call, cluster, post, relayer, send } = yield* relayerAt({}, { blockMs: 1000 })
      cluster.swallows = true
      const built = dataOf(yield* send(memo("built")))
      const own = yield* becomes(built.id, "submitted")
      const given = Effect.map(
        call("/api/v1/audit?action=transaction.signed&limit=100"),
        ({ text }) => text.split(relayer.split("/").at(-1) ?? "").length - 1
      )
      const refused = yield* post(sign, { transaction: own.transaction })
      assert.strictEqual(refused.status, 409, refused.text)
      assert.include(refused.json.error ?? "", `already_accepted: transaction ${built.id} has the same bytes`)
      const posted = prebuilt(address, recent(cluster), memoOf("posted"))
      const { id } = dataOf(yield* send({ transaction: posted }))
      const known = yield* post(sign, { transaction: posted })
      assert.strictEqual(known.status, 409, known.text)
      assert.include(known.json.error ?? "", id)
      release({ cluster })
      cluster.produce(finality + 2)
      yield* becomes(built.id, "confirmed")
      const landed = yield* post(sign, { transaction: own.transaction })
      assert.strictEqual(landed.status, 409, landed.text)
      assert.strictEqual(yield* given, 0)
    })
  )

  it.effect("is refused as a send is, and names the rule", () =>
    Effect.gen(function* () {
      const { address, cluster, post } = yield* relayerAt({
        fee_payer_as_authority: "always",
        authority_programs: [receiver]
      })
      const blockhash = recent(cluster)
      const cases: ReadonlyArray<readonly [string, object]> = [
        ["transaction: is required", {}],
        ["fee_payer_in_instruction", { transaction: prebuilt(address, blockhash, drain(address)) }],
        ["fee_payer_mismatch", { transaction: prebuilt(receiver, blockhash, memoOf("x")) }],
        ["blockhash_expired", { transaction: prebuilt(address, receiver, memoOf("x")) }],
        ["unknown", { transaction: prebuilt(address, blockhash, memoOf("x")), unknown: 1 }]
      ]
      for (const [text, body] of cases) {
        const { json, status } = yield* post(sign, body)
        assert.strictEqual(status, 400, text)
        assert.include(json.error ?? "", text)
      }
    })
  )

  it.effect("is refused while the relayer is paused, and to keys whose limits do not allow it", () =>
    Effect.gen(function* () {
      const { address, call, cluster, post, relayer } = yield* relayerAt()
      const transaction = () => ({ transaction: prebuilt(address, recent(cluster), memoOf(String(Math.random()))) })
      const scopes = ["transactions:sign"]
      const none = yield* makeKey(scopes, { transaction_limits: { max_value: "1" } })
      const spent = yield* makeKey(scopes, { transaction_limits: { solana: { max_fee_per_day: "7000" } } })
      assert.strictEqual((yield* post(sign, transaction(), { key: none })).status, 403)
      assert.strictEqual((yield* post(sign, transaction(), { key: spent })).status, 200)
      const second = yield* post(sign, transaction(), { key: spent })
      assert.strictEqual(second.status, 403)
      assert.include(second.json.error ?? "", "max_fee_per_day of the API key is 7000 lamports")
      yield* call(relayer, { method: "PATCH", body: { paused: true } })
      const paused = yield* post(sign, transaction())
      assert.strictEqual(paused.status, 403)
    })
  )

  it.effect("is not signed while the user has to pay and may pay with no token", () =>
    Effect.gen(function* () {
      const { address, cluster, post, call, relayer } = yield* relayerAt()
      yield* call(relayer, { method: "PATCH", body: { policies: { fee_payment_strategy: "user" } } })
      const refused = yield* post(sign, { transaction: prebuilt(address, recent(cluster), memoOf("free")) })
      assert.strictEqual(refused.status, 400)
      assert.include(refused.json.error ?? "", "fee_payment_strategy")
    })
  )
})
