// Terms of a relayer are remembered for a moment. They only permit: each send is decided by the terms that hold when it is accepted.
import { assert } from "@effect/vitest"
import { Effect, Metric } from "effect"
import { SqlClient } from "effect/sql"
import { TestClock } from "effect/testing"
import { databaseQuerySeconds } from "../../../src/sql/Transaction.ts"
import { layerEach } from "../../../testkit/layerEach.ts"
import * as TestApi from "../../../testkit/TestApi.ts"
import { makeKey, prepare, receiver, send } from "./Fixtures.ts"

const body = { to: receiver, value: "1" }

const other = `0x${"ab".repeat(20)}`

/** How often the service has read a relayer for its terms. */
const reads = Effect.map(
  Metric.value(Metric.withAttributes(databaseQuerySeconds, { query: "RelayersRepo.findAll" })),
  ({ count }) => count
)

/** The status of a send, and how often the relayer was read for it. After a refusal it is read once more, to look for a repeat. */
const sent = (given: object = body) =>
  Effect.gen(function* () {
    const before = yield* reads
    const { status } = yield* send(given)
    return [status, (yield* reads) - before]
  })

/** Changes the relayer, in a transaction that this process knows nothing of. */
const patch = (changes: object) =>
  Effect.gen(function* () {
    const { call } = yield* TestApi.TestApi
    const { status, text } = yield* call("/api/v1/relayers/sender", { method: "PATCH", body: changes })
    assert.strictEqual(status, 200, text)
  })

layerEach(TestApi.layer())("a send", (it) => {
  it.effect("by terms that were read a moment ago reads them not again", () =>
    Effect.gen(function* () {
      yield* prepare()
      assert.deepStrictEqual(yield* sent(), [200, 1])
      assert.deepStrictEqual(yield* sent(), [200, 0])
      yield* TestClock.adjust("30 seconds")
      assert.deepStrictEqual(yield* sent(), [200, 0])
      yield* TestClock.adjust("1 millis")
      assert.deepStrictEqual(yield* sent(), [200, 1])
    })
  )

  for (const [what, changes, status] of [
    ["is paused", { paused: true }, 403],
    ["has a whitelist without the receiver", { policies: { whitelist_receivers: [other] } }, 400],
    ["has another minimal balance", { policies: { min_balance: 7 } }, 200],
    ["has other RPC URLs", { custom_rpc_urls: [{ url: "http://127.0.0.1:2", weight: 1 }] }, 200]
  ] as const) {
    it.effect(`is decided anew if its relayer ${what} since its terms were read`, () =>
      Effect.gen(function* () {
        yield* prepare()
        assert.deepStrictEqual(yield* sent(), [200, 1])
        yield* patch(changes)
        assert.deepStrictEqual(yield* sent(), [status, status === 200 ? 1 : 2])
      })
    )
  }

  for (const [what, first, status, then] of [
    ["is no longer paused", { paused: true }, 403, { paused: false }],
    [
      "has the receiver in its whitelist",
      { policies: { whitelist_receivers: [other] } },
      400,
      { policies: { whitelist_receivers: [other, receiver] } }
    ]
  ] as const) {
    it.effect(`is accepted at once if its relayer ${what}`, () =>
      Effect.gen(function* () {
        yield* prepare()
        yield* sent()
        yield* patch(first)
        assert.deepStrictEqual(yield* sent(), [status, 2])
        yield* patch(then)
        assert.strictEqual((yield* sent())[0], 200)
      })
    )
  }

  it.effect(
    "is decided anew if the network of its relayer, a parent of it, or a first change of a built-in one is another",
    () =>
      Effect.gen(function* () {
        yield* prepare()
        const { call } = yield* TestApi.TestApi
        const change = (path: string, more: object) =>
          Effect.map(call(path, { method: "PATCH", body: more }), ({ status, text }) =>
            assert.strictEqual(status, 200, text)
          )
        yield* sent()
        yield* change("/api/v1/networks/evm:nowhere", { rpc_urls: ["http://127.0.0.1:3"] })
        assert.deepStrictEqual(yield* sent(), [200, 1])
        assert.deepStrictEqual(yield* sent(), [200, 0])

        const child = { name: "child", network_type: "evm", from: "nowhere" }
        assert.strictEqual((yield* call("/api/v1/networks", { body: child })).status, 201)
        const relayer = { name: "r", network_type: "evm", signer_id: "hot", paused: false }
        for (const [id, network] of [
          ["heir", "child"],
          ["built", "sepolia"]
        ]) {
          const { status, text } = yield* call("/api/v1/relayers", { body: { ...relayer, id, network } })
          assert.strictEqual(status, 201, text)
        }
        const readsOf = (id: string) =>
          Effect.gen(function* () {
            const before = yield* reads
            const { status, text } = yield* call(`/api/v1/relayers/${id}/transactions`, { body })
            assert.strictEqual(status, 200, text)
            return (yield* reads) - before
          })
        assert.deepStrictEqual([yield* readsOf("heir"), yield* readsOf("heir")], [1, 0])
        yield* change("/api/v1/networks/evm:nowhere", { symbol: "XYZ" })
        assert.deepStrictEqual([yield* readsOf("heir"), yield* readsOf("heir")], [1, 0])
        assert.deepStrictEqual([yield* readsOf("built"), yield* readsOf("built")], [1, 0])
        yield* change("/api/v1/networks/evm:sepolia", { symbol: "ABC" })
        assert.deepStrictEqual([yield* readsOf("built"), yield* readsOf("built")], [1, 0])
      })
  )

  it.effect("is accepted each time while its relayer changes all the time", () =>
    Effect.gen(function* () {
      yield* prepare()
      yield* sent()
      const sql = yield* SqlClient.SqlClient
      for (let round = 0; round < 5; round++) {
        yield* sql`UPDATE relayers SET paused = false WHERE id = 'sender'`
        assert.deepStrictEqual(yield* sent(), [200, 1])
      }
    })
  )

  it.effect("is accepted after the creation of its relayer, which was missing before", () =>
    Effect.gen(function* () {
      const { call } = yield* TestApi.TestApi
      assert.strictEqual((yield* send(body)).status, 404)
      yield* prepare()
      assert.deepStrictEqual(yield* sent(), [200, 1])
      yield* call("/api/v1/relayers/other", { method: "DELETE" })
      assert.strictEqual((yield* call("/api/v1/relayers/other/transactions", { body })).status, 404)
    })
  )

  it.effect("is decided by the limits of its own key, whoever has sent before", () =>
    Effect.gen(function* () {
      yield* prepare()
      const limited = yield* makeKey(["transactions:write"], { transaction_limits: { receivers: [other] } })
      assert.deepStrictEqual(yield* sent(), [200, 1])
      assert.strictEqual((yield* send(body, { key: limited })).status, 403)
      assert.strictEqual((yield* sent())[0], 200)
    })
  )

  it.effect("that has to be compared with others is decided by fresh terms", () =>
    Effect.gen(function* () {
      yield* prepare()
      yield* sent()
      const named = { ...body, external_id: "order-1" }
      assert.deepStrictEqual(yield* sent(named), [200, 1])
      assert.deepStrictEqual(yield* sent(named), [200, 1])
    })
  )

  it.effect("is not accepted if somebody has changed the address of its relayer in the database", () =>
    Effect.gen(function* () {
      yield* prepare()
      const sql = yield* SqlClient.SqlClient
      yield* sent()
      yield* sql`UPDATE relayers SET address = ${other} WHERE id = 'sender'`
      const [status] = yield* sent()
      assert.strictEqual(status, 500)
      assert.lengthOf(yield* sql`SELECT FROM transactions`, 1)
    })
  )
})
