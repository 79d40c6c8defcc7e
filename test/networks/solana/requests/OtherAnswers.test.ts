// Answers of solana relayers besides 400: to bytes that are known already, to changes of what is signed or final, to ids of others,
// while the relayer is paused, and to what solana does not have. A signer counts what is signed.
// The cluster makes blocks by the clock of the machine.
import { DateTime, Duration, Effect } from "effect"
import { assert, layer } from "@effect/vitest"
import { randomUUID } from "node:crypto"
import type * as TestApi from "../../../../testkit/TestApi.ts"
import { makeKey } from "../../../server/transactions/Fixtures.ts"
import { addressOf } from "../../../testkit/solana/World.ts"
import { memo } from "../lane/World.ts"
import * as Paying from "./Paying.ts"
import { countingApi, countingAt, dataOf, memoOf, prebuilt, recent, relayerAt } from "./Relayers.ts"

const inAnHour = Effect.map(DateTime.now, (now) => DateTime.formatIso(DateTime.addDuration(now, Duration.hours(1))))

/** A relayer with what callers can do with one of its transactions. */
const acting = Effect.fnUntraced(function* (policies: object = {}) {
  const relayer = yield* countingAt(policies)
  const { address, call, cluster, path, post } = relayer
  const raw = (text: string) => ({ transaction: prebuilt(address, recent(cluster), memoOf(text)) })
  return {
    ...relayer,
    raw,
    sign: (body: object) => post("/sign-transaction", body),
    replace: (id: string) => call(`${path}/${id}`, { method: "PUT", body: memo("other") }),
    remove: (id: string) => call(`${path}/${id}`, { method: "DELETE" }),
    pause: call(relayer.relayer, { method: "PATCH", body: { paused: true } })
  }
})

/** The status, and the text in the error. */
const isRefused = (answer: TestApi.Answer, status: number, text: string) => {
  assert.strictEqual(answer.status, status, answer.text)
  assert.include(answer.json.error ?? "", text)
}

layer(countingApi, { excludeTestServices: true, concurrent: true })("a solana relayer", (it) => {
  it.effect("accepts prebuilt bytes once: later, at once and after they have landed", () =>
    Effect.gen(function* () {
      const { becomes, kept, raw, send } = yield* acting()
      const bytes = raw("equal")
      const both = yield* Effect.all([send(bytes), send(bytes)], { concurrency: "unbounded" })
      const [id = ""] = both.map((answer) => dataOf(answer).id)
      const isKnown = (answer: TestApi.Answer) =>
        assert.deepStrictEqual([answer.status, dataOf(answer).id], [200, id], answer.text)
      both.forEach(isKnown)
      isKnown(yield* send(bytes))
      yield* becomes(id, "confirmed")
      isKnown(yield* send(bytes))
      assert.deepStrictEqual(yield* kept, { stored: 1, signatures: 1 })
    })
  )

  it.effect("answers prebuilt bytes with an equal external_id with the same transaction", () =>
    Effect.gen(function* () {
      const { becomes, kept, raw, send } = yield* acting()
      const body = { ...raw("named"), external_id: "order 1" }
      const first = yield* send(body)
      assert.strictEqual(first.status, 200, first.text)
      yield* becomes(dataOf(first).id, "confirmed")
      const again = yield* send(body)
      assert.deepStrictEqual([again.status, dataOf(again).id], [200, dataOf(first).id])
      isRefused(yield* send({ ...body, external_id: "order 2" }), 409, "already_accepted")
      assert.deepStrictEqual(yield* kept, { stored: 1, signatures: 1 })
    })
  )

  it.effect("signs the same bytes once, takes that signature over when they are sent, and signs them no more", () =>
    Effect.gen(function* () {
      const { address, becomes, cluster, kept, raw, send, sign } = yield* acting()
      const bytes = raw("given")
      const first = yield* sign(bytes)
      assert.strictEqual(first.status, 200, first.text)
      assert.deepStrictEqual((yield* sign(bytes)).json.data, first.json.data)
      assert.deepStrictEqual(yield* kept, { stored: 0, signatures: 1 })
      const sent = yield* send(bytes)
      assert.strictEqual(sent.status, 200, sent.text)
      const { attempts } = yield* becomes(dataOf(sent).id, "confirmed")
      assert.deepStrictEqual(
        attempts?.map(({ signature }) => signature),
        [dataOf(first).signature ?? ""]
      )
      isRefused(yield* sign(bytes), 409, `already_accepted: transaction ${dataOf(sent).id}`)
      assert.strictEqual(cluster.successes(address), 1)
      assert.deepStrictEqual(yield* kept, { stored: 1, signatures: 1 })
    })
  )

  it.effect(
    "gives no signature that could not be stored: the same bytes are signed anew for a key that may have them",
    () =>
      Effect.gen(function* () {
        const { kept, post, raw, sign } = yield* acting()
        // Between one and two fees: the second signature is made, and is beyond the limit when it is stored.
        const key = yield* makeKey(["transactions:sign"], {
          transaction_limits: { solana: { max_fee_per_day: "7000" } }
        })
        assert.strictEqual((yield* post("/sign-transaction", raw("first"), { key })).status, 200)
        const bytes = raw("second")
        const refused = yield* post("/sign-transaction", bytes, { key })
        isRefused(refused, 403, "max_fee_per_day")
        assert.notInclude(refused.text, '"signature"')
        assert.deepStrictEqual(yield* kept, { stored: 0, signatures: 2 })
        assert.strictEqual((yield* sign(bytes)).status, 200)
        assert.deepStrictEqual(yield* kept, { stored: 0, signatures: 3 })
      })
  )

  it.effect("does not sign the bytes of a send for a caller", () =>
    Effect.gen(function* () {
      const { kept, raw, send, sign } = yield* acting()
      const bytes = raw("sent")
      const sent = yield* send({ ...bytes, not_before: yield* inAnHour })
      isRefused(yield* sign(bytes), 409, `already_accepted: transaction ${dataOf(sent).id}`)
      assert.deepStrictEqual(yield* kept, { stored: 1, signatures: 0 })
    })
  )

  it.effect("accepts a prebuilt transaction whose blockhash is dead, and ends it without a signature", () =>
    Effect.gen(function* () {
      const { address, becomes, cluster, kept, send } = yield* acting()
      const sent = yield* send({ transaction: prebuilt(address, addressOf(90), memoOf("dead")) })
      assert.strictEqual(sent.status, 200, sent.text)
      const { attempts, code, signature } = yield* becomes(dataOf(sent).id, "expired")
      assert.deepStrictEqual([code, signature, attempts], ["blockhash_expired", undefined, undefined])
      assert.strictEqual(cluster.sent.size, 0)
      assert.deepStrictEqual(yield* kept, { stored: 1, signatures: 0 })
    })
  )

  it.effect(
    "does not replace what is signed, and answers its cancel with the status before it; no new bytes are signed",
    () =>
      Effect.gen(function* () {
        const { becomes, cluster, kept, remove, replace, send } = yield* acting()
        cluster.swallows = true
        const { id } = dataOf(yield* send(memo("in flight")))
        yield* becomes(id, "submitted")
        const refused = yield* replace(id)
        isRefused(refused, 409, "is signed: its bytes can land until block height")
        const bound = Number(/until block height (\d+)/.exec(refused.json.error ?? "")?.[1])
        assert.isAbove(bound, cluster.blocks.length)
        const canceled = yield* remove(id)
        assert.strictEqual(canceled.status, 200, canceled.text)
        const { is_canceled, status } = dataOf(canceled)
        assert.deepStrictEqual([status, is_canceled], ["submitted", true])
        yield* becomes(id, "canceled")
        assert.deepStrictEqual(yield* kept, { stored: 1, signatures: 1 })
      })
  )

  it.effect("changes nothing about a final transaction", () =>
    Effect.gen(function* () {
      const { becomes, get, kept, remove, replace, send } = yield* acting()
      const { id: landed } = dataOf(yield* send(memo("lands")))
      yield* becomes(landed, "confirmed")
      const { id: canceled } = dataOf(yield* send({ ...memo("waits"), not_before: yield* inAnHour }))
      assert.strictEqual(dataOf(yield* remove(canceled)).status, "canceled")
      for (const [id, status] of [
        [landed, "confirmed"],
        [canceled, "canceled"]
      ] as const) {
        for (const answer of [yield* replace(id), yield* remove(id)])
          assert.strictEqual(answer.status, 409, answer.text)
        assert.strictEqual((yield* get(id)).status, status)
      }
      assert.deepStrictEqual(yield* kept, { stored: 2, signatures: 1 })
    })
  )

  it.effect("does not know ids of other relayers, or ids that nobody has", () =>
    Effect.gen(function* () {
      const { call, kept, path } = yield* acting()
      const other = yield* relayerAt()
      const { id } = dataOf(yield* other.send({ ...memo("theirs"), not_before: yield* inAnHour }))
      for (const unknown of [id, randomUUID()]) {
        for (const answer of [
          yield* call(`${path}/${unknown}`),
          yield* call(`${path}/${unknown}/explain`),
          yield* call(`${path}/${unknown}`, { method: "DELETE" }),
          yield* call(`${path}/${unknown}`, { method: "PUT", body: memo("mine") })
        ]) {
          assert.deepStrictEqual([answer.status, answer.json.message], [404, "Transaction not found"], answer.text)
        }
      }
      assert.deepInclude(yield* other.get(id), { status: "pending", is_canceled: false })
      assert.deepStrictEqual(yield* kept, { stored: 0, signatures: 0 })
    })
  )

  it.effect("sends, replaces and signs nothing while it is paused, but is read, and cancels", () =>
    Effect.gen(function* () {
      const { call, get, kept, path, pause, post, raw, relayer, remove, replace, send, sign } = yield* acting()
      const { id } = dataOf(yield* send({ ...memo("waits"), not_before: yield* inAnHour }))
      yield* pause
      const batch = { transactions: [memo("x")] }
      for (const answer of [
        yield* send(memo("x")),
        yield* send(raw("x")),
        yield* post("/transactions/batch", batch),
        yield* replace(id),
        yield* sign(raw("y"))
      ]) {
        assert.deepStrictEqual([answer.status, answer.json.message], [403, "Relayer paused"], answer.text)
      }
      for (const method of ["signTransaction", "signAndSendTransaction"]) {
        assert.include((yield* post("/rpc", { method, params: raw(method) })).text, '"error"')
      }
      for (const read of [path, `${path}/${id}`, `${path}/${id}/explain`, `${relayer}/status`]) {
        assert.strictEqual((yield* call(read)).status, 200, read)
      }
      assert.strictEqual((yield* post("/transactions/simulate", memo("x"))).status, 200)
      assert.strictEqual((yield* get(id)).status, "pending")
      assert.strictEqual(dataOf(yield* remove(id)).status, "canceled")
      assert.deepStrictEqual(yield* kept, { stored: 1, signatures: 0 })
    })
  )

  it.effect("builds nothing for users while it is paused, but quotes", () =>
    Effect.gen(function* () {
      const { address, cluster, kept, pause, post } = yield* acting(Paying.policies)
      Paying.prepare(cluster, address)
      yield* pause
      const body = { transaction: Paying.wanted("paused"), fee_token: Paying.mint }
      const built = yield* post("/transactions/sponsored/build", body)
      assert.deepStrictEqual([built.status, built.json.message], [403, "Relayer paused"])
      assert.strictEqual((yield* post("/transactions/sponsored/quote", body)).status, 200)
      assert.deepStrictEqual(yield* kept, { stored: 0, signatures: 0 })
    })
  )

  it.effect("has no nonces, and refuses raw signatures", () =>
    Effect.gen(function* () {
      const { call, kept, post, relayer } = yield* acting()
      const typed = { domain_separator: "5c".repeat(32), hash_struct_message: "6d".repeat(32) }
      assert.strictEqual((yield* call(`${relayer}/nonce`)).status, 501)
      assert.strictEqual((yield* call(`${relayer}/transactions/by-nonce/0`)).status, 501)
      isRefused(yield* post("/nonce/clear", { from: 0, to: 1 }), 409, "no nonce")
      assert.strictEqual((yield* post("/sign", { message: "hello" })).status, 400)
      assert.strictEqual((yield* post("/sign-typed-data", typed)).status, 400)
      assert.deepStrictEqual(yield* kept, { stored: 0, signatures: 0 })
    })
  )
})
