// Replacements after the policy of the relayer has changed about private transactions: the route of the transaction decides.
import { assert } from "@effect/vitest"
import { Effect } from "effect"
import { layerEach } from "../../../testkit/layerEach.ts"
import * as TestApi from "../../../testkit/TestApi.ts"
import { dataOf, prepare, receiver, send, transactions } from "./Fixtures.ts"

const patchRelayer = Effect.fnUntraced(function* (body: object) {
  const { call } = yield* TestApi.TestApi
  const { status, text } = yield* call("/api/v1/relayers/sender", { method: "PATCH", body })
  assert.strictEqual(status, 200, text)
})

const put = (id: string, body: object) =>
  Effect.flatMap(TestApi.TestApi, ({ call }) => call(`${transactions}/${id}`, { method: "PUT", body }))

const withoutTip = { to: receiver, value: 2, gas_limit: 21_000, max_fee_per_gas: "5", max_priority_fee_per_gas: "0" }

const privateUrls = { custom_private_rpc_urls: [{ url: "https://private.example.com" }] }

layerEach(TestApi.layer())("a replacement", (it) => {
  it.effect("of a public transaction is public after the policy has become private", () =>
    Effect.gen(function* () {
      yield* prepare()
      const { id } = dataOf(yield* send({ to: receiver, value: 1 }))
      yield* patchRelayer({ ...privateUrls, policies: { private_transactions: true } })
      assert.strictEqual((yield* send(withoutTip)).status, 400)
      const replaced = yield* put(id, withoutTip)
      assert.strictEqual(replaced.status, 200, replaced.text)
    })
  )

  it.effect("of a private transaction is private after the policy has become public", () =>
    Effect.gen(function* () {
      yield* prepare()
      yield* patchRelayer({ ...privateUrls, policies: { private_transactions: true } })
      const { id } = dataOf(yield* send({ to: receiver, value: 1 }))
      yield* patchRelayer({ policies: { private_transactions: false } })
      assert.strictEqual((yield* send(withoutTip)).status, 200)
      const replaced = yield* put(id, withoutTip)
      assert.strictEqual(replaced.status, 400, replaced.text)
      assert.include(
        replaced.json.error ?? "",
        "max_priority_fee_per_gas: must be at least 1 for a private transaction"
      )
      assert.strictEqual((yield* put(id, { ...withoutTip, max_priority_fee_per_gas: "1" })).status, 200)
    })
  )
})
