// What a send accepts and refuses, over HTTP. An invalid send stores nothing.
import { assert } from "@effect/vitest"
import { Effect, Schema } from "effect"
import { SqlClient } from "effect/sql"
import { randomUUID } from "node:crypto"
import { layerEach } from "../../../testkit/layerEach.ts"
import * as TestApi from "../../../testkit/TestApi.ts"
import { count, dataOf, makeKey, prepare, receiver, send, transactions } from "./Fixtures.ts"

/** The field that the error names, and the body. */
const invalid: ReadonlyArray<readonly [what: string, field: string, body: object]> = [
  ["neither to nor data", "to", { value: 1 }],
  ["a wrong checksum", "to", { to: "0x70997970C51812dc3A010C7d01b50e0d17dc79c8" }],
  ["a short address", "to", { to: "0x7099" }],
  ["odd hex", "data", { to: receiver, data: "0x123" }],
  ["a value of 2^256", "value", { to: receiver, value: String(2n ** 256n) }],
  ["a negative value", "value", { to: receiver, value: -1 }],
  ["a fraction", "value", { to: receiver, value: 1.5 }],
  ["mixed fees", "gas_price", { to: receiver, gas_price: 1, max_fee_per_gas: 2, max_priority_fee_per_gas: 1 }],
  ["one of two fees", "max_priority_fee_per_gas", { to: receiver, max_fee_per_gas: 2 }],
  [
    "a tip above the fee",
    "max_priority_fee_per_gas",
    {
      to: receiver,
      max_fee_per_gas: 1,
      max_priority_fee_per_gas: 2
    }
  ],
  ["fees and a speed", "speed", { to: receiver, gas_price: 1, speed: "fast" }],
  ["gas below the intrinsic cost", "gas_limit", { to: receiver, gas_limit: 20_999 }],
  ["gas below the floor of calldata", "gas_limit", { to: receiver, data: `0x${"ff".repeat(1000)}`, gas_limit: 40_000 }],
  ["a deadline in the past", "valid_until", { to: receiver, valid_until: "2020-01-01T00:00:00Z" }],
  ["129 kB of data", "data", { to: receiver, data: `0x${"00".repeat(132_096)}` }],
  ["an unknown field", "memo", { to: receiver, memo: "x" }],
  [
    "a beginning after the deadline",
    "not_before",
    {
      to: receiver,
      not_before: "2999-01-01T00:00:00Z"
    }
  ]
]

const TimeOrdered = Schema.String.check(Schema.isUUID(7))

layerEach(TestApi.layer())("a send", (it) => {
  for (const [what, field, body] of invalid) {
    it.effect(`with ${what} is 400, names the field, and stores nothing`, () =>
      Effect.gen(function* () {
        yield* prepare()
        const { status, json } = yield* send(body)
        assert.strictEqual(status, 400)
        assert.include(json.error ?? "", field)
        assert.strictEqual(yield* count, 0)
      })
    )
  }

  it.effect("gets an id that sorts after the ids of earlier sends, so that indexes grow at one end", () =>
    Effect.gen(function* () {
      yield* prepare()
      const ids: Array<string> = []
      for (let index = 0; index < 20; index++) ids.push(dataOf(yield* send({ to: receiver, value: index })).id)
      for (const id of ids) assert.isTrue(Schema.is(TimeOrdered)(id), id)
      assert.deepStrictEqual(ids.toSorted(), ids)
      const sql = yield* SqlClient.SqlClient
      const rows = yield* sql<{ id: string }>`SELECT id FROM transactions ORDER BY number`
      assert.deepStrictEqual(
        rows.map(({ id }) => id),
        ids
      )
    })
  )

  it.effect("is stored as pending, with a Location, whatever form its amounts have", () =>
    Effect.gen(function* () {
      yield* prepare()
      for (const value of [255, "255", "0xff"]) {
        const answer = yield* send({ to: receiver, value })
        assert.strictEqual(answer.status, 200)
        const { id, status, value: shown } = dataOf(answer)
        assert.deepStrictEqual([status, shown], ["pending", "0xff"])
        assert.strictEqual(answer.headers.get("location"), `${transactions}/${id}`)
      }
      assert.strictEqual(yield* count, 3)
    })
  )

  it.effect("with an external_id is stored once; another body is 409", () =>
    Effect.gen(function* () {
      yield* prepare()
      const body = { to: receiver, value: 1, external_id: "order-1" }
      const first = dataOf(yield* send(body))
      const again = yield* send({ ...body, value: "0x1" })
      assert.deepStrictEqual([again.status, dataOf(again).id], [200, first.id])
      const other = yield* send({ ...body, value: 2 })
      assert.strictEqual(other.status, 409)
      assert.strictEqual(yield* count, 1)
    })
  )

  it.effect("in a batch is accepted with all others or not at all", () =>
    Effect.gen(function* () {
      yield* prepare()
      const { call } = yield* TestApi.TestApi
      const batch = (...values: ReadonlyArray<number>) =>
        call(`${transactions}/batch`, { body: { transactions: values.map((value) => ({ to: receiver, value })) } })
      const refused = yield* batch(1, -1)
      assert.strictEqual(refused.status, 400)
      assert.include(refused.json.error ?? "", "transactions.1.value")
      assert.strictEqual(yield* count, 0)
      const accepted = yield* batch(1, 2, 3)
      assert.strictEqual(accepted.status, 200)
      assert.deepStrictEqual(
        (accepted.json.data as ReadonlyArray<{ readonly value: string }>).map(({ value }) => value),
        ["0x1", "0x2", "0x3"]
      )
    })
  )

  it.effect("of a paused relayer is 403; with the body of another network type 400; of an unknown relayer 404", () =>
    Effect.gen(function* () {
      yield* prepare()
      const { call } = yield* TestApi.TestApi
      yield* call("/api/v1/relayers/sender", { method: "PATCH", body: { paused: true } })
      const paused = yield* send({ to: receiver })
      assert.deepStrictEqual([paused.status, paused.json.message], [403, "Relayer paused"])
      assert.strictEqual(paused.json.error, "the relayer is paused; resume it first")
      const body = { to: receiver }
      assert.strictEqual((yield* call("/api/v1/relayers/sol/transactions", { body })).status, 400)
      assert.strictEqual((yield* call("/api/v1/relayers/none/transactions", { body })).status, 404)
    })
  )

  it.effect("is decoded by the network type of its relayer, after the relayer is known", () =>
    Effect.gen(function* () {
      yield* prepare()
      const { call } = yield* TestApi.TestApi
      const body = { transaction: "AQAB" }
      for (const [path, given, status] of [
        ["transactions", { body }, 400],
        ["transactions", { body: "{" }, 400],
        ["transactions/simulate", { body }, 400],
        ["transactions/batch", { body: { transactions: [body] } }, 400],
        [`transactions/${randomUUID()}`, { method: "PUT", body }, 404]
      ] as const) {
        const ofSolana = yield* call(`/api/v1/relayers/sol/${path}`, given)
        assert.strictEqual(ofSolana.status, status, `${path} ${ofSolana.text}`)
        assert.strictEqual((yield* call(`/api/v1/relayers/none/${path}`, given)).status, 404)
      }
      const ofEvm = yield* send(body)
      assert.strictEqual(ofEvm.status, 400)
      for (const said of [
        /^body: has fields of solana, and the network type of the relayer is evm; /,
        /; transaction: is not a known field \(known: to, value, /,
        /; to: is required unless data or calls is given$/
      ]) {
        assert.match(ofEvm.json.error ?? "", said)
      }
      const broken = yield* call(transactions, { body: "{" })
      assert.deepStrictEqual(
        [broken.status, broken.json.error],
        [400, "body: Expected valid JSON (it breaks at line 1, column 2)"]
      )
    })
  )

  it.effect(
    "to a receiver that the policy does not list is 400; private transactions without a private URL are 409",
    () =>
      Effect.gen(function* () {
        yield* prepare({ whitelist_receivers: [receiver], private_transactions: true })
        const other = yield* send({ to: `0x${"11".repeat(20)}` })
        assert.strictEqual(other.status, 400)
        assert.include(other.json.error ?? "", "whitelist_receivers")
        const secret = yield* send({ to: receiver })
        assert.strictEqual(secret.status, 409)
        assert.include(
          secret.json.error ?? "",
          "no_private_rpc: neither custom_private_rpc_urls of the relayer nor private_rpc_urls of its network"
        )
        const openly = yield* send({ to: receiver, private: false })
        assert.strictEqual(openly.status, 400, "against the policy")
        assert.strictEqual(yield* count, 0)
      })
  )

  it.effect("whose fields about private sends are wrong is refused by their names, and changes nothing", () =>
    Effect.gen(function* () {
      yield* prepare()
      const { call } = yield* TestApi.TestApi
      const { id } = dataOf(yield* send({ to: receiver }))
      const one = `${transactions}/${id}`
      const batch = { transactions: [{ to: receiver, private: 1 }] }
      const secret = { to: receiver, private: true }
      for (const [method, path, body, status, error] of [
        ["POST", transactions, { to: receiver, private: "yes" }, 400, "private: Expected true or false"],
        [
          "POST",
          transactions,
          { ...secret, max_fee_per_gas: 9, max_priority_fee_per_gas: 0 },
          400,
          "max_priority_fee_per_gas: "
        ],
        ["POST", `${transactions}/batch`, batch, 400, "transactions.0.private: "],
        ["POST", `${transactions}/simulate`, { to: receiver, private: 1 }, 400, "private: "],
        ["POST", transactions, secret, 409, "no_private_rpc: "],
        ["PUT", one, secret, 400, "private: "],
        ["POST", `${one}/route`, {}, 400, "route: is required"],
        ["POST", `${one}/route`, { route: "private" }, 400, "route: Expected public"],
        ["POST", `${one}/route`, { route: "public", at: 1 }, 400, "at: is not a known field"],
        ["POST", `${transactions}/${randomUUID()}/route`, { route: "public" }, 404, ""]
      ] as const) {
        const answer = yield* call(path, { method, body })
        assert.strictEqual(answer.status, status, `${path} ${JSON.stringify(body)}: ${answer.text}`)
        assert.isTrue((answer.json.error ?? "").startsWith(error), `${answer.text}, not ${error}`)
      }
      const shown = yield* call(one)
      assert.deepStrictEqual([yield* count, dataOf(shown).status, "route" in dataOf(shown)], [1, "pending", false])
    })
  )

  it.effect("with a wrong checksum is told so with its other mistakes, alone and in a batch", () =>
    Effect.gen(function* () {
      yield* prepare()
      const { call } = yield* TestApi.TestApi
      const wrong = { to: "0x70997970C51812dc3A010C7d01b50e0d17dc79c8", value: 1.5, memo: "x" }
      const checksum = "to: has a wrong checksum (EIP-55); check it, or write it in lower case"
      const { json } = yield* send(wrong)
      assert.include(json.error ?? "", checksum)
      assert.include(json.error ?? "", "; value: Expected a whole number of wei")
      assert.include(json.error ?? "", "; memo: is not a known field")
      const batch = yield* call(`${transactions}/batch`, { body: { transactions: [{ to: receiver }, wrong, wrong] } })
      for (const index of [1, 2]) {
        assert.include(batch.json.error ?? "", `transactions.${index}.${checksum}`)
        assert.include(batch.json.error ?? "", `transactions.${index}.value: Expected a whole number of wei`)
      }
      const right = yield* send({ ...wrong, to: "0x70997970C51812dc3A010C7d01b50e0d17dc79C8" })
      assert.notInclude(right.json.error ?? "", "to: ")
    })
  )

  it.effect("needs transactions:write, and a narrowed key reaches only its relayers", () =>
    Effect.gen(function* () {
      yield* prepare()
      const { call } = yield* TestApi.TestApi
      const reader = yield* makeKey(["transactions:read"])
      assert.strictEqual((yield* send({ to: receiver }, { key: reader })).status, 403)
      const narrow = yield* makeKey(["transactions:*"], { relayer_ids: ["other"] })
      assert.strictEqual((yield* send({ to: receiver }, { key: narrow })).status, 403)
      const own = yield* call("/api/v1/relayers/other/transactions", { body: { to: receiver }, key: narrow })
      assert.strictEqual(own.status, 200)
      yield* send({ to: receiver })
      const all = yield* call("/api/v1/transactions", { key: narrow })
      assert.deepStrictEqual(
        (all.json.data as ReadonlyArray<{ readonly relayer_id: string }>).map(({ relayer_id }) => relayer_id),
        ["other"]
      )
      const signing = yield* call("/api/v1/relayers/other/sign", { body: { message: "x" }, key: narrow })
      assert.strictEqual(signing.status, 403)
    })
  )

  it.effect("beyond the limits of the API key is 403, also for a key that it made", () =>
    Effect.gen(function* () {
      yield* prepare()
      const { call } = yield* TestApi.TestApi
      const limits = { max_value: "1000", receivers: [receiver], max_fee_per_day: "63000" }
      const scopes = ["transactions:*", "api-keys:write"]
      const key = yield* makeKey(scopes, { transaction_limits: limits })
      const fees = { gas_price: 1, gas_limit: 21_000 }
      assert.strictEqual((yield* send({ to: receiver, value: 1001, ...fees }, { key })).status, 403)
      assert.strictEqual((yield* send({ to: `0x${"11".repeat(20)}`, ...fees }, { key })).status, 403)
      assert.strictEqual((yield* send({ to: receiver, value: 1000, ...fees }, { key })).status, 200)
      const wider = yield* call("/api/v1/api-keys", {
        key,
        body: { name: "child", scopes: ["transactions:*"], transaction_limits: { max_value: "1001" } }
      })
      assert.strictEqual(wider.status, 400)
      const child = yield* call("/api/v1/api-keys", { key, body: { name: "child", scopes: ["transactions:*"] } })
      const { key: childKey, id } = child.json.data as { readonly key: string; readonly id: string }
      assert.strictEqual((yield* send({ to: receiver, value: 2000, ...fees }, { key: childKey })).status, 403)
      assert.strictEqual((yield* send({ to: receiver, value: 1, ...fees }, { key: childKey })).status, 200)
      // What a deleted key has spent still counts.
      yield* call(`/api/v1/api-keys/${id}`, { method: "DELETE", key })
      assert.strictEqual((yield* send({ to: receiver, value: 2, ...fees }, { key })).status, 200)
      const beyond = yield* send({ to: receiver, value: 3, ...fees }, { key })
      assert.strictEqual(beyond.status, 403)
      assert.include(beyond.json.error ?? "", "max_fee_per_day")
    })
  )
})
