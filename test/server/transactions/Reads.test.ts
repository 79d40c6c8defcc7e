// Reading, replacing and canceling transactions that wait, over HTTP.
import { evmOf } from "../../../testkit/EvmRows.ts"
import { assert } from "@effect/vitest"
import { DateTime, Effect } from "effect"
import { Ledger } from "../../../src/server/ledger/Ledger.ts"
import { layerEach } from "../../../testkit/layerEach.ts"
import * as TestApi from "../../../testkit/TestApi.ts"
import { asTimePasses } from "../events/LiveApi.ts"
import { dataOf, prepare, receiver, send, transactions } from "./Fixtures.ts"
import type { Shown } from "./Fixtures.ts"

const unknown = "4f1c2c9e-8f0b-4c56-9d5e-0a7b1f1f2a3b"

const day = 86_400_000
/** The clock of the test stands at 0. */
const inDays = (days: number) => DateTime.formatIso(DateTime.makeUnsafe(days * day))

const listOf = ({ json }: TestApi.Answer) => json.data as ReadonlyArray<Shown>

layerEach(TestApi.layer())("transactions", (it) => {
  it.effect("are filtered by status and external_id, and paged by number and by cursor", () =>
    Effect.gen(function* () {
      yield* prepare()
      const { call } = yield* TestApi.TestApi
      for (const value of [1, 2, 3]) yield* send({ to: receiver, value, external_id: `order-${value}` })
      const [newest] = listOf(yield* call(transactions))
      yield* call(`${transactions}/${newest?.id}`, { method: "DELETE" })
      const pending = yield* call(`${transactions}?status=pending&status=submitted`)
      assert.deepStrictEqual(
        listOf(pending).map(({ value }) => value),
        ["0x2", "0x1"]
      )
      assert.lengthOf(listOf(yield* call(`${transactions}?external_id=order-2`)), 1)
      const first = yield* call(`${transactions}?per_page=2`)
      assert.deepStrictEqual(first.json.pagination, { current_page: 1, per_page: 2, total_items: 3 })
      const next = /<([^>]+)>; rel="next"/.exec(first.headers.get("link") ?? "")?.[1] ?? ""
      const second = yield* call(next)
      assert.deepStrictEqual(
        listOf(second).map(({ value }) => value),
        ["0x1"]
      )
      assert.isUndefined(second.json.pagination)
      assert.isNull(second.headers.get("link"))
      assert.strictEqual((yield* call(`${transactions}?status=unknown`)).status, 400)
    })
  )

  it.effect("of another relayer, or unknown ones, are 404", () =>
    Effect.gen(function* () {
      yield* prepare()
      const { call } = yield* TestApi.TestApi
      const { id } = dataOf(yield* send({ to: receiver }))
      for (const path of [
        `/api/v1/relayers/other/transactions/${id}`,
        `${transactions}/${unknown}`,
        `${transactions}/by-nonce/7`
      ]) {
        const { status, json } = yield* call(path)
        assert.deepStrictEqual([status, json.message], [404, "Transaction not found"], path)
      }
      assert.strictEqual((yield* call(`${transactions}/${id}`)).status, 200)
      assert.strictEqual((yield* call(`${transactions}/no-uuid`)).status, 400)
    })
  )

  it.effect("that wait are canceled at once; a second cancel is 409", () =>
    Effect.gen(function* () {
      yield* prepare()
      const { call } = yield* TestApi.TestApi
      const { id } = dataOf(yield* send({ to: receiver }))
      const canceled = yield* call(`${transactions}/${id}`, { method: "DELETE" })
      assert.deepStrictEqual([canceled.status, dataOf(canceled).status], [200, "canceled"])
      const again = yield* call(`${transactions}/${id}`, { method: "DELETE" })
      assert.deepStrictEqual([again.status, again.json.message], [409, "Transaction conflict"])
    })
  )

  it.effect("that are open are canceled together", () =>
    Effect.gen(function* () {
      yield* prepare()
      const { call } = yield* TestApi.TestApi
      for (const value of [1, 2]) yield* send({ to: receiver, value })
      const { json } = yield* call(`${transactions}/pending`, { method: "DELETE" })
      const { queued_for_cancellation_transaction_ids: queued, total_processed } = json.data as {
        readonly queued_for_cancellation_transaction_ids: ReadonlyArray<string>
        readonly total_processed: number
      }
      assert.deepStrictEqual([queued.length, total_processed], [2, 2])
      assert.lengthOf(listOf(yield* call(`${transactions}?status=canceled`)), 2)
    })
  )

  it.effect("that wait are replaced; a field that cannot change is 400", () =>
    Effect.gen(function* () {
      yield* prepare()
      const { call } = yield* TestApi.TestApi
      const { id } = dataOf(yield* send({ to: receiver, value: 1 }))
      const put = (body: object) => call(`${transactions}/${id}`, { method: "PUT", body })
      const replaced = yield* put({ to: receiver, value: 2, speed: "fastest" })
      assert.deepStrictEqual([replaced.status, dataOf(replaced).id, dataOf(replaced).value], [200, id, "0x2"])
      const refused = yield* put({ to: receiver, nonce: 5 })
      assert.strictEqual(refused.status, 400)
      assert.include(refused.json.error ?? "", "nonce")
    })
  )

  it.effect("keep their deadline and wait_for_funds in a replacement that does not give them", () =>
    Effect.gen(function* () {
      yield* prepare()
      const { call } = yield* TestApi.TestApi
      const ledger = yield* Ledger
      const [first, second] = [inDays(1), inDays(2)]
      const { id } = dataOf(yield* send({ to: receiver, valid_until: first, wait_for_funds: false }))
      const replace = Effect.fnUntraced(function* (body: object) {
        const { status, json } = yield* call(`${transactions}/${id}`, {
          method: "PUT",
          body: { to: receiver, ...body }
        })
        const [stored] = (yield* ledger.select({ filter: {}, limit: 1 })).transactions
        const { valid_until } = json.data as { readonly valid_until: string }
        return [status, valid_until, stored && evmOf(stored).transaction.versions.at(-1)?.wait_for_funds]
      })
      assert.deepStrictEqual(yield* replace({ value: 2 }), [200, first, false])
      assert.deepStrictEqual(yield* replace({ valid_until: second, wait_for_funds: true }), [200, second, true])
      assert.deepStrictEqual(yield* replace({}), [200, second, true])
    })
  )

  it.effect("are not replaced with a deadline in the past or before not_before: 400 names the field", () =>
    Effect.gen(function* () {
      yield* prepare()
      const { call } = yield* TestApi.TestApi
      const { id } = dataOf(yield* send({ to: receiver, not_before: inDays(2), valid_until: inDays(3) }))
      const put = (valid_until: string) =>
        call(`${transactions}/${id}`, { method: "PUT", body: { to: receiver, valid_until } })
      const past = yield* put(inDays(-1))
      assert.deepStrictEqual([past.status, past.json.error], [400, "valid_until: must be in the future"])
      const early = yield* put(inDays(1))
      assert.deepStrictEqual(
        [early.status, early.json.error],
        [400, "valid_until: must be after not_before of the transaction"]
      )
      const { json } = yield* call(`${transactions}/${id}`)
      assert.strictEqual((json.data as { readonly valid_until: string }).valid_until, inDays(3))
    })
  )

  it.effect("are explained by a code, a sentence and what happens next", () =>
    Effect.gen(function* () {
      yield* prepare()
      const { call } = yield* TestApi.TestApi
      const { id } = dataOf(yield* send({ to: receiver }))
      const { json } = yield* call(`${transactions}/${id}/explain`)
      const explained = json.data as Record<string, unknown>
      assert.strictEqual(explained.status, "pending")
      assert.strictEqual(explained.code, "queued")
      assert.isString(explained.reason)
      assert.isString(explained.next)
      assert.isString(explained.since)
    })
  )

  it.effect("that are queued are explained with the number of those before them", () =>
    Effect.gen(function* () {
      yield* prepare()
      const { call } = yield* TestApi.TestApi
      const first = dataOf(yield* send({ to: receiver }))
      const later = dataOf(yield* send({ to: receiver, not_before: inDays(1) }))
      const second = dataOf(yield* send({ to: receiver }))
      const urgent = dataOf(yield* send({ to: receiver, priority: 1 }))
      const positions = yield* Effect.forEach([urgent, first, second, later], ({ id }) =>
        Effect.map(call(`${transactions}/${id}/explain`), ({ json }) => {
          const { figures, reason } = json.data as { readonly figures: { position: number }; readonly reason: string }
          const ahead = figures.position === 0 ? "for its nonce." : `behind ${figures.position} transaction`
          assert.include(reason, ahead)
          return figures.position
        })
      )
      assert.deepStrictEqual(positions, [0, 1, 2, 3])
    })
  )

  it.effect("show the nonces of their account, without a chain", () =>
    Effect.gen(function* () {
      yield* prepare()
      const { call } = yield* TestApi.TestApi
      yield* send({ to: receiver })
      const { status, json } = yield* asTimePasses(call("/api/v1/relayers/sender/nonce"))
      assert.strictEqual(status, 200)
      assert.deepInclude(json.data as object, { chain_id: 31_337, pending: 1, in_flight: 0, next_nonce: 0 })
      assert.notProperty(json.data, "chain_count")
      const range = yield* call("/api/v1/relayers/sender/nonce/clear", { body: { from: 5, to: 4 } })
      assert.strictEqual(range.status, 400)
    })
  )

  it.effect("cannot be simulated without a chain: 502 names the provider and the call", () =>
    Effect.gen(function* () {
      yield* prepare()
      const { call } = yield* TestApi.TestApi
      const { status, json } = yield* asTimePasses(call(`${transactions}/simulate`, { body: { to: receiver } }))
      assert.deepStrictEqual(
        [status, json.message, json.error],
        [502, "Bad Gateway", "http://127.0.0.1:1: eth_chainId: cannot be reached"]
      )
    })
  )
})
