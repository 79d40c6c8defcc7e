// A repeat of what was accepted is answered as accepted, whatever would refuse it by now.
import { assert, describe, it, layer } from "@effect/vitest"
import { Effect, Schema, Struct } from "effect"
import { TestClock } from "effect/testing"
import * as Json from "../../../src/api/Json.ts"
import { SendEvmTransaction } from "../../../src/networks/evm/rules/EvmSchemas.ts"
import { SendSolanaTransaction } from "../../../src/networks/solana/rules/SolanaExchanges.ts"
import { SendStellarTransaction } from "../../../src/networks/stellar/rules/StellarRequests.ts"
import { textOf } from "../../../src/server/transactions/Intake.ts"
import * as LedgerRows from "../../../testkit/LedgerRows.ts"
import * as TestApi from "../../../testkit/TestApi.ts"
import { makeKey } from "./Fixtures.ts"
import { alone, bodies, dataOf, inBatch, life, notOf, prepared, reads, refusals, ways, withKey } from "./SentBefore.ts"
import type { Shown } from "./SentBefore.ts"

layer(TestApi.layer())("a repeat of", (it) => {
  for (const [name, sent] of Object.entries(bodies)) {
    for (const [what, refuse] of Object.entries(refusals)) {
      it.effect(`${name} is answered with its transaction in spite of ${what}`, () =>
        Effect.gen(function* () {
          const relayer = yield* prepared(sent)
          const { body, count, send } = relayer
          const first = yield* send(body)
          assert.strictEqual(first.status, 200, first.text)
          const key = yield* refuse(relayer, { limits: notOf(sent.type), ...sent })
          const more = typeof key === "string" ? { key } : {}
          const before = yield* count
          for (const [way, repeat] of Object.entries(ways)) {
            const again = yield* repeat(relayer, body, more)
            assert.strictEqual(again.status, 200, `${way}: ${again.text}`)
            assert.strictEqual(dataOf(again).id, dataOf(first).id, way)
          }
          const another = yield* send({ ...body, external_id: "another" }, more)
          assert.notStrictEqual(another.status, 200, another.text)
          assert.strictEqual(yield* count, before)
        })
      )
    }

    it.effect(`${name} is answered with its transaction if both arrive at the same time`, () =>
      Effect.gen(function* () {
        const relayer = yield* prepared(sent)
        const answers = yield* Effect.forEach(Object.values(ways), (way) => way(relayer, relayer.body), {
          concurrency: "unbounded"
        })
        for (const { status, text } of answers) assert.strictEqual(status, 200, text)
        assert.strictEqual(new Set(answers.map((answer) => dataOf(answer).id)).size, 1)
        assert.strictEqual(yield* relayer.count, 1)
      })
    )

    it.effect(`${name} with another body is 409 and names the transaction`, () =>
      Effect.gen(function* () {
        const relayer = yield* prepared(sent)
        const { body, change, count, send } = relayer
        const { id } = dataOf(yield* send(body))
        for (const paused of [false, true]) {
          yield* change({ paused })
          for (const way of [alone, inBatch, withKey]) {
            const { json, status, text } = yield* way(relayer, { ...body, priority: 1 })
            assert.deepStrictEqual([status, json.message], [409, "Transaction conflict"], text)
            assert.include(json.error ?? "", id)
          }
        }
        assert.strictEqual(yield* count, 1)
      })
    )

    it.effect(`${name} is refused as a new one if the key may not read it, and answered if the key has sent it`, () =>
      Effect.gen(function* () {
        const { body, change, send } = yield* prepared(sent)
        const own = yield* makeKey(["transactions:write"])
        const { id } = dataOf(yield* send(body, { key: own }))
        const writer = yield* makeKey(["transactions:write"])
        yield* LedgerRows.insertNamed("other")
        const elsewhere = yield* makeKey(reads, { relayer_ids: ["other"] })
        yield* change({ paused: true })
        const refused = yield* send(body, { key: writer })
        assert.deepStrictEqual([refused.status, refused.json.message], [403, "Relayer paused"])
        const unknown = yield* send(body, { key: elsewhere })
        assert.include([403, 404], unknown.status)
        for (const { text } of [refused, unknown]) assert.notInclude(text, id)
        const again = yield* send(body, { key: own })
        assert.strictEqual(again.status, 200, again.text)
        assert.strictEqual(dataOf(again).id, id)
      })
    )

    it.effect(`${name} beside a new transaction that is refused is named by the refusal`, () =>
      Effect.gen(function* () {
        const { body, bodyOf, change, count, send, sendAll } = yield* prepared(sent)
        const other = Object.values(bodies).find(({ type }) => type === sent.type) ?? sent
        const late = { ...(yield* bodyOf(other)), external_id: "late" }
        const { id } = dataOf(yield* send(body))
        yield* TestClock.adjust(life + 1000)
        const expired = yield* sendAll([late, body])
        assert.strictEqual(expired.status, 400, expired.text)
        assert.match(expired.json.error ?? "", /^transactions\.0\./)
        assert.include(expired.json.error ?? "", `; transactions.1 was accepted before as transaction ${id}`)
        yield* change({ paused: true })
        const fresh = { ...(yield* bodyOf(other)), external_id: "fresh" }
        const paused = yield* sendAll([body, fresh])
        assert.strictEqual(paused.status, 409, paused.text)
        assert.match(paused.json.error ?? "", /^the relayer is paused.*; transactions\.0 was accepted before/)
        assert.strictEqual(yield* count, 1)
        yield* change({ paused: false })
        const accepted = yield* sendAll([body, fresh])
        assert.strictEqual(accepted.status, 200, accepted.text)
        const ids = (accepted.json.data as ReadonlyArray<Shown>).map((shown) => shown.id)
        assert.deepStrictEqual([ids.length, ids[0], new Set(ids).size], [2, id, 2])
      })
    )
  }

  for (const [name, sent] of Object.entries(bodies).filter(([of]) => of.endsWith("external_id"))) {
    it.effect(`a replacement of ${name} is answered with the transaction, whatever refuses it by now`, () =>
      Effect.forEach(Object.entries(refusals), ([what, refuse]) =>
        Effect.gen(function* () {
          const relayer = yield* prepared(sent)
          const { body, call, path, send } = relayer
          const { id } = dataOf(yield* send(body))
          const version = { ...Struct.omit(body, ["external_id"]), wait_for_funds: true }
          const replace = (given: object, more?: TestApi.Call) =>
            call(`${path}/transactions/${id}`, { ...more, method: "PUT", body: given })
          const first = yield* replace(version)
          assert.strictEqual(first.status, 200, first.text)
          const key = yield* refuse(relayer, { limits: notOf(sent.type), ...sent })
          const more = typeof key === "string" ? { key } : {}
          const again = yield* replace(version, more)
          // A key with limits replaces only what it, or a key that it created, has sent.
          const expected = key === undefined ? 200 : 403
          assert.strictEqual(again.status, expected, `${what}: ${again.text}`)
          if (key === undefined) assert.strictEqual(dataOf(again).id, id, what)
        })
      )
    )
  }
})

const textIn = <A>(body: Schema.Codec<A, unknown>, given: object): string =>
  textOf(body)(Schema.decodeUnknownSync(Json.fromText(body))(JSON.stringify(given)))

describe("the text of a body, whose hash finds repeats of what an older version accepted", () => {
  it("does not depend on the order of fields and the form of amounts and moments", () => {
    const evm = {
      external_id: "order-1",
      valid_until: "2026-11-22T18:00:00+00:00",
      gas_limit: "21000",
      gas_price: 7,
      value: "0xff",
      to: "0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed"
    }
    const solana = { max_fee_lamports: "100", external_id: "order-1", transaction: [1, 2], priority: 1 }
    const stellar = { valid_until: "1795370400", transaction_xdr: "AAAA", max_fee: 100, network: "testnet" }
    assert.deepStrictEqual(
      [textIn(SendEvmTransaction, evm), textIn(SendSolanaTransaction, solana), textIn(SendStellarTransaction, stellar)],
      [
        '{"to":"0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed","value":"255","gas_limit":"21000","gas_price":"7","valid_until":"2026-11-22T18:00:00.000Z","external_id":"order-1"}',
        '{"transaction":[1,2],"external_id":"order-1","priority":1,"max_fee_lamports":100}',
        '{"network":"testnet","transaction_xdr":"AAAA","valid_until":"2026-11-22T18:00:00.000Z","max_fee":"100"}'
      ]
    )
  })
})
