// What an API key with max_fee_per_day may replace.
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
        assert.include(refused.json.error ?? "", "max_fee_per_day")
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
