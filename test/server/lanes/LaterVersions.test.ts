// What a later version of the service has stored, in the same database: a network and codes that this version does not know.
// Requests show it, and the lanes of this version go on. Anvil makes blocks by the clock of the machine.
import { assert, layer } from "@effect/vitest"
import { Effect } from "effect"
import { SqlClient } from "effect/sql"
import { randomUUID } from "node:crypto"
import { ApiClient } from "../../../src/client/ApiClient.ts"
import { NotificationId } from "../../../src/domain/notification/Notification.ts"
import { awaited } from "../../../testkit/Awaited.ts"
import * as Anvil from "../../../testkit/Anvil.ts"
import * as LedgerRows from "../../../testkit/LedgerRows.ts"
import * as Prepared from "../../../testkit/Prepared.ts"
import * as TestApi from "../../../testkit/TestApi.ts"
import * as TransactionsRepo from "../../../src/server/ledger/TransactionsRepo.ts"
import { accept, api, becomes, relayerAt } from "./fixtures.ts"

const code = "landing_delayed"

layer(api, { excludeTestServices: true })("a database that a later version has written, too", (it) => {
  it.effect("is shown by every request, and the lanes of known networks go on", () =>
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const client = yield* ApiClient
      const node = yield* Anvil.start({ blockTime: 1 })
      const account = yield* relayerAt(node)

      // A lane and a row of a network that this version does not know.
      const [strange] = yield* LedgerRows.insert({ ...account, chain: "mars:1", address: "olympus" }, 1, {
        request: { to: "phobos" }
      })
      if (strange === undefined) return assert.fail("nothing was accepted")
      const figures = JSON.stringify({ nonce: "a text", dust: 7 })
      yield* sql`UPDATE transactions SET code = ${code}, figures = ${figures}::json WHERE id = ${strange}`
      yield* sql`UPDATE lanes SET code = ${code}, code_since = now() WHERE chain = 'mars:1'`
      // The same codes on a known network: they stay until the lane decides again.
      const [ended] = yield* accept(account)
      yield* becomes(ended, "confirmed")
      yield* sql`UPDATE transactions SET code = ${code}, figures = ${figures}::json WHERE id = ${ended}`
      yield* sql`UPDATE lanes SET code = ${code}, code_since = now() WHERE address = ${account.address}`

      const [next] = yield* accept(account)
      yield* becomes(next, "confirmed", "confirmed")
      const [row] = yield* (yield* TransactionsRepo.make).find([strange])
      assert.deepStrictEqual(row?.transaction.cause, { code, figures: {} })
      const [lane] = yield* sql<{ holder: string | null }>`SELECT holder FROM lanes WHERE chain = 'mars:1'`
      assert.isNull(lane?.holder)

      const params = { relayer_id: account.relayerId }
      for (const [id, status] of [
        [strange, "pending"],
        [ended, "confirmed"]
      ] as const) {
        const { data } = yield* client.transactions.get({ params: { ...params, transaction_id: id }, query: {} })
        assert.deepStrictEqual([data.status, data.code], [status, code])
        const { data: explained } = yield* client.transactions.explain({ params: { ...params, transaction_id: id } })
        assert.strictEqual(explained.code, code)
        assert.include(
          explained.reason,
          `The transaction's code is ${code}, which this version of the service does not know.`
        )
      }
      const { data: listed } = yield* client.transactions.list({ params, query: {} })
      assert.sameMembers(
        listed.map(({ id }) => id),
        [strange, ended, next]
      )
      const all = yield* client.allTransactions.list({ query: { relayer_id: [account.relayerId] } })
      assert.lengthOf(all.data, 3)
      assert.deepStrictEqual(
        all.data.map((one) => one.network_type),
        ["evm", "evm", "mars"]
      )
      const refused = yield* TestApi.call(`/api/v1/relayers/${account.relayerId}/transactions/${strange}`, {
        method: "DELETE"
      })
      assert.strictEqual(refused.status, 409, refused.text)
      assert.include(refused.json.error ?? "", "belongs to mars, which this version of the service does not know")
      const nonces = yield* TestApi.call(`/api/v1/relayers/${account.relayerId}/nonce`)
      assert.strictEqual(nonces.status, 200, nonces.text)
      const metrics = yield* TestApi.call("/metrics")
      assert.strictEqual(metrics.status, 200)
    })
  )

  it.effect("has events, deliveries and audit records of types that this version reads as texts", () =>
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const client = yield* ApiClient
      const notification = randomUUID()
      yield* Prepared.create("notifications", {
        id: notification,
        type: "webhook",
        url: "http://127.0.0.1:1/",
        signing_key: "k".repeat(32)
      })
      const [event] = yield* sql<{ id: string }>`
        INSERT INTO events (type, resource_id, data) VALUES ('rocket.launched', 'rocket-1', '{"id":"rocket-1"}')
        RETURNING id::text`
      yield* sql`
        INSERT INTO deliveries (id, notification_seq, event_id, lane, event, body)
        SELECT ${randomUUID()}, seq, ${event?.id ?? ""}::bigint, 'rocket-1', 'rocket.launched', '{}' FROM notifications
        WHERE id = ${notification}`
      yield* sql`
        INSERT INTO audit (key_id, action, resource, resource_id, after)
        VALUES ('administrator', 'rocket.launched', 'rocket', 'rocket-1', '{}')`

      // The feed shows an event when no older transaction of the server is open, and other tests share the server.
      const events = yield* awaited(
        client.events.list({ query: { resource_id: "rocket-1" }, headers: {} }),
        ({ data }) => data.length > 0
      )
      assert.deepStrictEqual(
        events.data.map(({ type }) => type),
        ["rocket.launched"]
      )
      const deliveries = yield* client.notifications.deliveries({
        params: { notification_id: NotificationId.make(notification) },
        query: {}
      })
      assert.deepStrictEqual(
        deliveries.data.map(({ type }) => type),
        ["rocket.launched"]
      )
      const { data: records } = yield* client.audit.list({ query: { resource_id: "rocket-1" } })
      assert.deepStrictEqual(
        records.map(({ action, resource }) => [action, resource]),
        [["rocket.launched", "rocket"]]
      )
    })
  )
})
