// The fee limit of an API key holds for prices and gas limits that are only known when a transaction is signed.
import { assert, layer } from "@effect/vitest"
import { Effect } from "effect"
import { TransactionId } from "../../../src/domain/transaction/EvmTransaction.ts"
import * as Anvil from "../../../testkit/Anvil.ts"
import * as TestApi from "../../../testkit/TestApi.ts"
import { until } from "../../../testkit/process/Folder.ts"
import { api, becomes, receiver, relayerAt } from "./fixtures.ts"

/** Sends with a key that may spend this many wei on fees in 24 hours. */
const sendWith = Effect.fnUntraced(function* (relayerId: string, max_fee_per_day: string) {
  const { call } = yield* TestApi.TestApi
  const created = yield* call("/api/v1/api-keys", {
    body: { name: "limited", scopes: ["transactions:*"], transaction_limits: { max_fee_per_day } }
  })
  const { id, key } = created.json.data as { readonly id: string; readonly key: string }
  const sent = yield* call(`/api/v1/relayers/${relayerId}/transactions`, { key, body: { to: receiver, value: 1 } })
  assert.strictEqual(sent.status, 200, sent.text)
  return { keyId: id, id: TransactionId.make((sent.json.data as { readonly id: string }).id) }
})

layer(api, { excludeTestServices: true })("an API key with max_fee_per_day", (it) => {
  it.effect("cannot pay more than its limit, although neither gas limit nor price was given", () =>
    Effect.gen(function* () {
      const node = yield* Anvil.start({ blockTime: 1 })
      const { relayerId } = yield* relayerAt(node)
      const { id } = yield* sendWith(relayerId, "21000")
      assert.lengthOf((yield* becomes(id, "pending", "gas_price_above_cap")).attempts, 0)
      const { relayerId: other } = yield* relayerAt(node)
      yield* becomes((yield* sendWith(other, "1000000000000000000")).id, "confirmed")
    })
  )

  it.effect("keeps its limit for what it has sent after it is deleted, and explain names the price", () =>
    Effect.gen(function* () {
      const { call } = yield* TestApi.TestApi
      const node = yield* Anvil.start({ blockTime: 1 })
      const { relayerId } = yield* relayerAt(node)
      const { id, keyId } = yield* sendWith(relayerId, "21000")
      yield* becomes(id, "pending", "gas_price_above_cap")
      const deleted = yield* call(`/api/v1/api-keys/${keyId}`, { method: "DELETE" })
      assert.strictEqual(deleted.status, 200, deleted.text)
      const seen = Number(yield* node.call("eth_blockNumber", []))
      yield* until(
        "blocks after the deletion",
        Effect.map(node.call("eth_blockNumber", []), (block) => (Number(block) > seen + 3 ? true : undefined))
      )
      const explained = yield* call(`/api/v1/relayers/${relayerId}/transactions/${id}/explain`)
      const { code, reason } = explained.json.data as { readonly code: string; readonly reason: string }
      assert.strictEqual(code, "gas_price_above_cap")
      assert.include(reason, "may offer 1 wei")
    })
  )
})
