// A key with limits sends, replaces and signs only on networks of the types that it has limits for.
import { assert } from "@effect/vitest"
import { Effect } from "effect"
import { layerEach } from "../../../testkit/layerEach.ts"
import * as TestApi from "../../../testkit/TestApi.ts"
import { count, dataOf, makeKey, prepare, receiver, send, transactions } from "./Fixtures.ts"

const scopes = ["transactions:*", "transactions:sign", "rpc:call"]

/** Limits of a network type, by the network type. */
const onEvm = { max_value: "1000000" }
const onSolana = { solana: { max_value: "1000000" } }

const id = "4f1c2c9e-8f0b-4c56-9d5e-0a7b1f1f2a3b"

const typedData = {
  domain: { name: "Example" },
  types: { Note: [{ name: "text", type: "string" }] },
  primaryType: "Note",
  message: { text: "hello" }
}

/** Everything that sends, replaces or signs. */
const requests = (relayer: string, transaction = id) =>
  [
    [`/api/v1/relayers/${relayer}/transactions`, { body: { to: receiver } }],
    [`/api/v1/relayers/${relayer}/transactions/batch`, { body: { transactions: [{ to: receiver }] } }],
    [`/api/v1/relayers/${relayer}/transactions/${transaction}`, { method: "PUT", body: { to: receiver } }],
    [`/api/v1/relayers/${relayer}/sign`, { body: { message: "hello" } }],
    [`/api/v1/relayers/${relayer}/sign-typed-data`, { body: typedData }]
  ] as const

const rpc = Effect.fnUntraced(function* (key: string, method: string, params: ReadonlyArray<unknown>) {
  const { call } = yield* TestApi.TestApi
  const body = { jsonrpc: "2.0", id: 1, method, params }
  const { text } = yield* call("/api/v1/relayers/sender/rpc", { key, body })
  return JSON.parse(text) as {
    readonly error?: { readonly code: number; readonly message: string }
    readonly result?: unknown
  }
})

layerEach(TestApi.layer())("an API key with limits", (it) => {
  it.effect("of evm alone gets 403 for a solana relayer, which names the member, before 501", () =>
    Effect.gen(function* () {
      yield* prepare()
      const { call } = yield* TestApi.TestApi
      const key = yield* makeKey(scopes, { transaction_limits: onEvm })
      for (const [path, given] of requests("sol")) {
        const refused = yield* call(path, { ...given, key })
        assert.strictEqual(refused.status, 403, `${path} ${refused.text}`)
        assert.strictEqual(refused.json.message, "Transaction limit exceeded")
        assert.strictEqual(
          refused.json.error,
          "transaction_limits.solana: is absent, so the API key may not send, replace or sign on solana networks"
        )
      }
    })
  )

  it.effect("of solana, or without any limits, is not refused for a solana relayer", () =>
    Effect.gen(function* () {
      yield* prepare()
      const { call } = yield* TestApi.TestApi
      for (const key of [yield* makeKey(scopes, { transaction_limits: onSolana }), yield* makeKey(scopes)]) {
        const statuses = yield* Effect.forEach(requests("sol"), ([path, given]) =>
          Effect.map(call(path, { ...given, key }), ({ status }) => status)
        )
        // Bodies of evm are not those of solana, there is no such transaction, and solana relayers sign no messages.
        assert.deepStrictEqual(statuses, [400, 400, 404, 400, 400])
      }
    })
  )

  it.effect("of solana alone, or of none, neither sends, replaces nor signs on evm", () =>
    Effect.gen(function* () {
      yield* prepare()
      const { call } = yield* TestApi.TestApi
      const sent = dataOf(yield* send({ to: receiver, value: 1 }))
      for (const transaction_limits of [onSolana, {}]) {
        const key = yield* makeKey(scopes, { transaction_limits })
        for (const [path, given] of requests("sender", sent.id)) {
          const refused = yield* call(path, { ...given, key })
          assert.strictEqual(refused.status, 403, `${path} ${refused.text}`)
          assert.match(
            refused.json.error ?? "",
            /^transaction_limits: has none of max_value, max_fee_per_day, receivers and sel/
          )
        }
        // What sends and signs nothing is as before.
        assert.strictEqual((yield* call(`${transactions}/${sent.id}`, { key })).status, 200)
      }
      assert.strictEqual(yield* count, 1)
      assert.strictEqual(dataOf(yield* call(`${transactions}/${sent.id}`)).value, "0x1")
    })
  )

  it.effect("of another type is refused with -32003 by the calls of wallets that send or sign", () =>
    Effect.gen(function* () {
      yield* prepare()
      const { call } = yield* TestApi.TestApi
      const { address } = (yield* call("/api/v1/relayers/sender")).json.data as { readonly address: string }
      const key = yield* makeKey(scopes, { transaction_limits: onSolana })
      for (const [method, params] of [
        ["eth_sendTransaction", [{ to: receiver }]],
        ["personal_sign", ["0x00", address]],
        ["eth_sign", [address, "0x00"]],
        ["eth_signTypedData_v4", [address, JSON.stringify(typedData)]]
      ] as const) {
        const { error } = yield* rpc(key, method, params)
        assert.strictEqual(error?.code, -32_003, method)
        assert.match(error?.message ?? "", /^transaction_limits: has none of /, method)
      }
      assert.deepStrictEqual((yield* rpc(key, "eth_accounts", [])).result, [address])
    })
  )

  it.effect("of evm signs messages, whatever its limits are", () =>
    Effect.gen(function* () {
      yield* prepare()
      const { call } = yield* TestApi.TestApi
      const key = yield* makeKey(scopes, { transaction_limits: { max_value: "0", receivers: [] } })
      for (const [path, given] of requests("sender").slice(-2))
        assert.strictEqual((yield* call(path, { ...given, key })).status, 200, path)
    })
  )
})
