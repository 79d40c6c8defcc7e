// What an API key with transaction_limits may replace and cancel.
import { assert } from "@effect/vitest"
import { Effect } from "effect"
import { layerEach } from "../../../testkit/layerEach.ts"
import * as TestApi from "../../../testkit/TestApi.ts"
import { dataOf, makeKey, prepare, receiver, send, transactions } from "./Fixtures.ts"

const fees = { gas_price: 1, gas_limit: 21_000 }
const expensive = { to: receiver, gas_price: 1_000_000_000_000, gas_limit: 10_000_000 }

const replace = (id: string, key: string, body: object = expensive) =>
  Effect.flatMap(TestApi.TestApi, ({ call }) => call(`${transactions}/${id}`, { method: "PUT", key, body }))

const childOf = Effect.fnUntraced(function* (key: string) {
  const { call } = yield* TestApi.TestApi
  const { json } = yield* call("/api/v1/api-keys", { key, body: { name: "child", scopes: ["transactions:*"] } })
  return (json.data as { readonly key: string }).key
})

layerEach(TestApi.layer())("an API key with max_fee_per_day", (it) => {
  const transaction_limits = { max_fee_per_day: "100000" }

  it.effect("cannot offer a price without limit for a transaction that another key has sent", () =>
    Effect.gen(function* () {
      yield* prepare()
      const limited = yield* makeKey(["transactions:*"], { transaction_limits })
      const [other, unlimited] = [
        yield* makeKey(["transactions:*"], { transaction_limits }),
        yield* makeKey(["transactions:*"])
      ]
      const sent = [
        dataOf(yield* send({ to: receiver, ...fees })),
        dataOf(yield* send({ to: receiver, ...fees }, { key: unlimited })),
        dataOf(yield* send({ to: receiver, ...fees }, { key: other }))
      ]
      for (const { id } of sent) {
        const refused = yield* replace(id, limited)
        assert.strictEqual(refused.status, 403, refused.text)
        assert.include(refused.json.error ?? "", "can only replace and cancel transactions that it")
        assert.strictEqual((yield* replace(id, unlimited)).status, 200)
      }
    })
  )

  it.effect("replaces what it, or a key that it created, has sent", () =>
    Effect.gen(function* () {
      yield* prepare()
      const key = yield* makeKey(["transactions:*", "api-keys:write"], { transaction_limits })
      const child = yield* childOf(key)
      for (const sender of [key, child]) {
        const { id } = dataOf(yield* send({ to: receiver, ...fees }, { key: sender }))
        const replaced = yield* replace(id, key, { to: receiver, value: 2, ...fees })
        assert.strictEqual(replaced.status, 200, replaced.text)
      }
      const { id } = dataOf(yield* send({ to: receiver, ...fees }, { key }))
      assert.strictEqual((yield* replace(id, child)).status, 403)
    })
  )
})

layerEach(TestApi.layer())("an API key with receivers", (it) => {
  const other = `0x${"22".repeat(20)}`
  const limits = { transaction_limits: { receivers: [other] } }

  it.effect("redirects no payment of another key, whatever the body is", () =>
    Effect.gen(function* () {
      yield* prepare()
      const { id } = dataOf(yield* send({ to: receiver, value: 5, ...fees }))
      const limited = yield* makeKey(["transactions:*"], limits)
      for (const to of [other, receiver]) {
        const refused = yield* replace(id, limited, { to, value: 1, ...fees })
        assert.deepStrictEqual([refused.status, refused.json.error?.startsWith("transaction_id: ")], [403, true])
      }
    })
  )

  it.effect("cancels only what it, or a key that it created, has sent", () =>
    Effect.gen(function* () {
      yield* prepare()
      const { call } = yield* TestApi.TestApi
      const limited = yield* makeKey(["transactions:*", "api-keys:write"], limits)
      const foreign = dataOf(yield* send({ to: receiver, ...fees }))
      const refused = yield* call(`${transactions}/${foreign.id}`, { method: "DELETE", key: limited })
      assert.strictEqual(refused.status, 403, refused.text)
      const own = dataOf(yield* send({ to: other, ...fees }, { key: limited }))
      const ofChild = dataOf(yield* send({ to: other, ...fees }, { key: yield* childOf(limited) }))
      const canceled = yield* call(`${transactions}/${own.id}`, { method: "DELETE", key: limited })
      assert.strictEqual(canceled.status, 200, canceled.text)
      const { json } = yield* call(`${transactions}/pending`, { method: "DELETE", key: limited })
      assert.deepInclude(json.data, {
        queued_for_cancellation_transaction_ids: [ofChild.id],
        failed_to_queue_transaction_ids: [foreign.id]
      })
      const { json: kept } = yield* call(`${transactions}/${foreign.id}`)
      assert.deepInclude(kept.data, { status: "pending", is_canceled: false })
    })
  )
})

layerEach(TestApi.layer())("an API key with selectors", (it) => {
  const transfer = `0xa9059cbb${"00".repeat(64)}`
  const approve = `0x095ea7b3${"00".repeat(64)}`
  const limits = { transaction_limits: { selectors: [`${receiver}:0xa9059cbb`] } }
  const gas = { gas_price: 1, gas_limit: 100_000 }

  it.effect("sends and replaces only calls in its list, one by one and in batches", () =>
    Effect.gen(function* () {
      yield* prepare()
      const { call } = yield* TestApi.TestApi
      const key = yield* makeKey(["transactions:*"], limits)
      const { id } = dataOf(yield* send({ to: receiver, data: transfer, ...gas }, { key }))
      const refusal = "data: calls nothing that is among the selectors of the API key"
      for (const body of [{ data: approve }, {}, { data: "0xa9059c" }]) {
        const refused = yield* send({ to: receiver, ...body, ...gas }, { key })
        assert.deepStrictEqual([refused.status, refused.json.error], [403, refusal])
        const replaced = yield* replace(id, key, { to: receiver, ...body, ...gas })
        assert.deepStrictEqual([replaced.status, replaced.json.error], [403, refusal])
      }
      const batch = [{ data: transfer }, { data: approve }].map((body) => ({ to: receiver, ...body, ...gas }))
      const refused = yield* call(`${transactions}/batch`, { key, body: { transactions: batch } })
      assert.deepStrictEqual([refused.status, refused.json.error], [403, `transactions.1.${refusal}`])
      const { json } = yield* call(transactions)
      assert.lengthOf(json.data as ReadonlyArray<unknown>, 1)
    })
  )

  it.effect("creates no key that may call more, and is shown with its list", () =>
    Effect.gen(function* () {
      const { call } = yield* TestApi.TestApi
      const key = yield* makeKey(["transactions:*", "api-keys:*"], limits)
      const create = (transaction_limits: object) =>
        call("/api/v1/api-keys", { key, body: { name: "child", scopes: ["transactions:write"], transaction_limits } })
      const wider = yield* create({ selectors: [`${receiver}:0x095ea7b3`] })
      assert.strictEqual(wider.status, 400, wider.text)
      const same = yield* create(limits.transaction_limits)
      assert.strictEqual(same.status, 201, same.text)
      assert.deepInclude(same.json.data, limits)
    })
  )
})

layerEach(TestApi.layer())("a policy with whitelist_selectors", (it) => {
  it.effect("refuses what it does not list, whatever key sends it", () =>
    Effect.gen(function* () {
      yield* prepare({ whitelist_selectors: [`${receiver}:0xa9059cbb`] })
      const data = `0xa9059cbb${"00".repeat(64)}`
      assert.strictEqual((yield* send({ to: receiver, data, gas_price: 1, gas_limit: 100_000 })).status, 200)
      const refused = yield* send({ to: receiver, ...fees })
      assert.deepStrictEqual(
        [refused.status, refused.json.error],
        [400, "data: calls nothing that is in whitelist_selectors of the relayer's policy"]
      )
    })
  )
})

layerEach(TestApi.layer())("an API key with transaction_limits", (it) => {
  const limits = { transaction_limits: { max_fee_per_day: "1000000" } }

  it.effect("changes neither RPC URLs nor policies of a relayer, which decide what its limits are compared with", () =>
    Effect.gen(function* () {
      yield* prepare()
      const { call } = yield* TestApi.TestApi
      const key = yield* makeKey(["relayers:*", "transactions:*"], { ...limits, relayer_ids: ["sender"] })
      const patch = (body: object) => call("/api/v1/relayers/sender", { method: "PATCH", key, body })
      for (const [field, value] of [
        ["custom_rpc_urls", [{ url: "http://127.0.0.1:2" }]],
        ["custom_rpc_urls", null],
        ["custom_private_rpc_urls", [{ url: "http://127.0.0.1:2" }]],
        ["custom_private_rpc_urls", null],
        ["policies", { gas_price_cap: 1 }],
        ["policies", null]
      ] as const) {
        const { status, json } = yield* patch({ [field]: value })
        const error = `${field}: an API key with transaction_limits may not change it; use a key without transaction_limits`
        assert.deepStrictEqual([status, json.error], [403, error])
      }
      assert.strictEqual((yield* patch({ name: "renamed" })).status, 200)
    })
  )

  it.effect("creates no relayer with RPC URLs, and neither creates, changes nor deletes a network", () =>
    Effect.gen(function* () {
      yield* prepare()
      const { call } = yield* TestApi.TestApi
      const key = yield* makeKey(["relayers:*", "networks:*"], limits)
      const relayer = {
        id: "own",
        name: "own",
        network_type: "evm",
        network: "nowhere",
        signer_id: "hot",
        paused: false
      }
      const urls = { custom_rpc_urls: [{ url: "http://127.0.0.1:2" }] }
      const rpc_urls = ["http://127.0.0.1:2"]
      const refused = [
        yield* call("/api/v1/relayers", { key, body: { ...relayer, ...urls } }),
        yield* call("/api/v1/relayers", { key, body: { ...relayer, custom_private_rpc_urls: urls.custom_rpc_urls } }),
        yield* call("/api/v1/networks", { key, body: { name: "own", network_type: "evm", from: "sepolia", rpc_urls } }),
        yield* call("/api/v1/networks/evm:nowhere", { method: "PATCH", key, body: { rpc_urls } }),
        yield* call("/api/v1/networks/evm:nowhere", { method: "DELETE", key })
      ]
      assert.deepStrictEqual(
        refused.map(({ status, json }) => [status, json.error?.replace(/: .*/, "")]),
        [
          [403, "custom_rpc_urls"],
          [403, "custom_private_rpc_urls"],
          [403, "network"],
          [403, "network"],
          [403, "network"]
        ]
      )
      assert.strictEqual((yield* call("/api/v1/relayers", { key, body: relayer })).status, 201)
    })
  )

  it.effect("clears no nonce with a price, which would count for no limit", () =>
    Effect.gen(function* () {
      yield* prepare()
      const { call } = yield* TestApi.TestApi
      const clear = (key: string, body: object) =>
        call("/api/v1/relayers/sender/nonce/clear", { key, body: { from: 0, to: 5, ...body } })
      const limited = yield* makeKey(["transactions:*"], limits)
      const refused = yield* clear(limited, { max_fee_per_gas: "9" })
      assert.strictEqual(refused.status, 403, refused.text)
      assert.match(refused.json.error ?? "", /^max_fee_per_gas: .*use a key without transaction_limits$/)
      const nothing = { transaction_ids: [], transactions: [] }
      assert.deepStrictEqual((yield* clear(limited, {})).json.data, nothing)
      const unlimited = yield* makeKey(["transactions:*"])
      assert.deepStrictEqual((yield* clear(unlimited, { max_fee_per_gas: "9" })).json.data, nothing)
    })
  )

  it.effect("learns only of its own limit how much is left", () =>
    Effect.gen(function* () {
      yield* prepare()
      const parent = yield* makeKey(["transactions:*", "api-keys:write"], {
        transaction_limits: { max_fee_per_day: "30000" }
      })
      yield* send({ to: receiver, ...fees }, { key: parent })
      const above = yield* send({ to: receiver, ...fees }, { key: yield* childOf(parent) })
      const text = "a key that the API key descends from has a max_fee_per_day, of which too little is left"
      assert.deepStrictEqual([above.status, above.json.error], [403, `fees: ${text}`])
      const own = yield* send({ to: receiver, ...fees }, { key: parent })
      assert.include(own.json.error ?? "", "the max_fee_per_day of the API key is 30000 wei, of which 21000 are used")
    })
  )
})
