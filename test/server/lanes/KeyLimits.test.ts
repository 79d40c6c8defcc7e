// The fee limit of an API key holds for prices and gas limits that are only known when a transaction is signed.
import { assert, layer } from "@effect/vitest"
import { Effect } from "effect"
import { TransactionId } from "../../../src/domain/transaction/EvmTransaction.ts"
import * as Anvil from "../../../testkit/Anvil.ts"
import * as TestApi from "../../../testkit/TestApi.ts"
import { api, becomes, receiver, relayerAt } from "./fixtures.ts"

/** Sends with a key that may spend this many wei on fees in 24 hours. */
const sendWith = Effect.fnUntraced(function* (relayerId: string, max_fee_per_day: string) {
  const { call } = yield* TestApi.TestApi
  const created = yield* call("/api/v1/api-keys", {
    body: { name: "limited", scopes: ["transactions:*"], transaction_limits: { max_fee_per_day } }
  })
  const { key } = created.json.data as { readonly key: string }
  const sent = yield* call(`/api/v1/relayers/${relayerId}/transactions`, { key, body: { to: receiver, value: 1 } })
  assert.strictEqual(sent.status, 200, sent.text)
  return TransactionId.make((sent.json.data as { readonly id: string }).id)
})

layer(api, { excludeTestServices: true })("an API key with max_fee_per_day", (it) => {
  it.effect("cannot pay more than its limit, although neither gas limit nor price was given", () =>
    Effect.gen(function* () {
      const node = yield* Anvil.start({ blockTime: 1 })
      const { relayerId } = yield* relayerAt(node)
      const held = yield* becomes(yield* sendWith(relayerId, "21000"), "pending", "gas_price_above_cap")
      assert.lengthOf(held.attempts, 0)
      const { relayerId: other } = yield* relayerAt(node)
      yield* becomes(yield* sendWith(other, "1000000000000000000"), "confirmed")
    })
  )
})
