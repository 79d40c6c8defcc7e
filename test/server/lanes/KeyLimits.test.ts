// The fee limit of an API key holds for prices and gas limits that are only known when a transaction is signed.
// Anvil makes blocks by the clock of the machine.
import { assert, layer } from "@effect/vitest"
import { Effect } from "effect"
import { TransactionId } from "../../../src/networks/core/TransactionValues.ts"
import * as Anvil from "../../../testkit/Anvil.ts"
import * as EvmProxy from "../../../testkit/EvmProxy.ts"
import * as TestApi from "../../../testkit/TestApi.ts"
import { until } from "../../../testkit/process/Folder.ts"
import { api, becomes, read, receiver, relayerAt } from "./fixtures.ts"

const gwei = 10n ** 9n

/** Sends with a key that may spend this many wei on fees in 24 hours. */
const sendWith = Effect.fnUntraced(function* (relayerId: string, max_fee_per_day: string, fees: object = {}) {
  const { call } = yield* TestApi.TestApi
  const created = yield* call("/api/v1/api-keys", {
    body: { name: "limited", scopes: ["transactions:*"], transaction_limits: { max_fee_per_day } }
  })
  const { id, key } = created.json.data as { readonly id: string; readonly key: string }
  const sent = yield* call(`/api/v1/relayers/${relayerId}/transactions`, {
    key,
    body: { to: receiver, value: 1, ...fees }
  })
  assert.strictEqual(sent.status, 200, sent.text)
  return { keyId: id, id: TransactionId.make((sent.json.data as { readonly id: string }).id) }
})

layer(api, { excludeTestServices: true, concurrent: true })("an API key with max_fee_per_day", (it) => {
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

  it.effect("holds its own transactions alone: those of another key of the same relayer pass", () =>
    Effect.gen(function* () {
      const node = yield* Anvil.start({ blockTime: 1 })
      const { relayerId } = yield* relayerAt(node)
      const { id } = yield* sendWith(relayerId, "21000")
      yield* becomes(id, "pending", "gas_price_above_cap")
      yield* becomes((yield* sendWith(relayerId, "1000000000000000000")).id, "confirmed")
      assert.strictEqual((yield* read(id)).state, "pending")
    })
  )

  it.effect("does not raise a price beyond its limit: explain names both, and the first bytes are sent again", () =>
    Effect.gen(function* () {
      const { call } = yield* TestApi.TestApi
      const node = yield* Anvil.start({ blockTime: 1 })
      const proxy = yield* EvmProxy.make(node.url)
      // Nodes swallow what is sent, and others pay higher tips: the price would rise after four blocks.
      proxy.set("eth_sendRawTransaction", { do: "lie", result: () => `0x${"00".repeat(32)}` })
      // They show it: what a node accepts and does not keep is no reason to pay more.
      proxy.set("eth_getTransactionByHash", { do: "lie", result: () => ({}) })
      const fees = { gas_limit: 21_000, max_fee_per_gas: String(10n * gwei), max_priority_fee_per_gas: "1" }
      const { relayerId } = yield* relayerAt(node, { urls: [proxy.url] })
      const { id } = yield* sendWith(relayerId, String(21_000n * 11n * gwei), fees)
      const { relayerId: other } = yield* relayerAt(node, { urls: [proxy.url] })
      const { id: raised } = yield* sendWith(other, String(21_000n * 12n * gwei), fees)

      const { cause } = yield* becomes(id, "submitted", "at_cap")
      assert.deepStrictEqual(cause?.figures, { price: (10n * gwei * 9n) / 8n, cap: 11n * gwei, limit: "api_key" })
      const explained = yield* call(`/api/v1/relayers/${relayerId}/transactions/${id}/explain`)
      const { code, reason, next } = explained.json.data as Record<"code" | "reason" | "next", string>
      assert.strictEqual(code, "at_cap")
      assert.include(reason, "11250000000 wei per gas, and may offer at most 11000000000 wei")
      assert.include(next, "limit of the API key")
      yield* until(
        "a higher price within the limit",
        Effect.map(read(raised), ({ attempts }) => (attempts.length > 1 ? true : undefined))
      )
      assert.lengthOf((yield* read(id)).attempts, 1)
      proxy.clear()
      assert.lengthOf((yield* becomes(id, "confirmed")).attempts, 1)
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
      assert.include(reason, "may pay at most 1 wei")
    })
  )
})
