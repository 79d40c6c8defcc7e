// What the service itself seals lies where a rotation looks for it.
import { assert, layer } from "@effect/vitest"
import { Effect, Layer, Option } from "effect"
import { SqlClient } from "effect/sql"
import { verifyWebhook } from "../../../src/client/Webhook.ts"
import { MasterKeys, MasterKeyStore } from "../../../src/server/masterKey/MasterKeys.ts"
import { sealedColumns } from "../../../src/server/masterKey/ProtectedRowsRepo.ts"
import { evmRelayer, notification, signer } from "../../../testkit/fixtures.ts"
import * as Receiver from "../../../testkit/Receiver.ts"
import * as TestApi from "../../../testkit/TestApi.ts"
import { Vault } from "../../../testkit/Vault.ts"
import { evmNetwork } from "../networks/fixtures.ts"
import { config, prepared } from "../signers/fixtures.ts"

/**
 * Lanes seal keys of channels, and bytes of private transactions: `lanes/stellar/Channels.test.ts` rotates the master key, and sends with them;
 * `ledger/PrivateBytes.test.ts` opens the bytes where a rotation looks for them.
 */
const columns = sealedColumns.filter(({ table }) => table !== "channel_keys" && table !== "private_bytes")

const secretUrl = { url: "https://private.example.com/v1/secret-path", weight: 1 }

const withStore = Layer.succeed(MasterKeyStore, Option.some({ keep: () => Effect.void, files: Effect.succeed([]) }))

layer(Layer.provideMerge(Layer.provide(TestApi.layer(), withStore), Vault.layer))("everything that is sealed", (it) => {
  it.effect("comes under the new key, and is used as before", () =>
    Effect.gen(function* () {
      const api = yield* TestApi.TestApi
      const sql = yield* SqlClient.SqlClient
      const vault = yield* prepared
      const key = { "idempotency-key": "one" }
      const bodies = [
        ["signers", signer],
        ["signers", { id: "vault-1", type: "vault", config: config(vault) }],
        ["notifications", notification],
        ["networks", { ...evmNetwork, private_rpc_urls: [secretUrl] }],
        ["relayers", { ...evmRelayer, custom_private_rpc_urls: [secretUrl] }]
      ] as const
      for (const [resource, body] of bodies) {
        const headers = resource === "notifications" ? key : {}
        const created = yield* api.call(`/api/v1/${resource}`, { body, headers })
        assert.strictEqual(created.status, 201, created.text)
      }
      const receiver = yield* Receiver.make
      const moved = { url: receiver.url, signing_key: "fedcba9876543210fedcba9876543210" }
      const patched = yield* api.call(`/api/v1/notifications/${notification.id}`, { method: "PATCH", body: moved })
      assert.strictEqual(patched.status, 200, patched.text)
      const audit = yield* api.call("/api/v1/audit?limit=1")
      assert.strictEqual(audit.status, 200, audit.text)

      const present: Array<string> = []
      for (const { table, sealed } of columns) {
        const rows = yield* sql`SELECT 1 FROM ${sql(table)} WHERE ${sql(sealed)} IS NOT NULL`
        if (rows.length > 0) present.push(`${table}.${sealed}`)
      }
      assert.deepStrictEqual(
        present,
        columns.map(({ table, sealed }) => `${table}.${sealed}`)
      )

      const { rotate } = yield* MasterKeys
      assert.isAtLeast((yield* rotate).rewrapped, columns.length)
      const replayed = yield* api.call("/api/v1/notifications", { body: notification, headers: key })
      assert.strictEqual(replayed.headers.get("idempotency-replayed"), "true", replayed.text)
      for (const id of [signer.id, "vault-1"]) {
        const verified = yield* api.call(`/api/v1/signers/${id}/verify`, { method: "POST" })
        assert.strictEqual(verified.status, 200, verified.text)
        assert.include(verified.text, '"verified":true')
      }
      yield* api.call(`/api/v1/notifications/${notification.id}/test`, { method: "POST" })
      const [seen] = receiver.seen
      for (const secret of [moved.signing_key, notification.signing_key]) {
        yield* verifyWebhook({ secret, headers: seen?.headers ?? {}, body: seen?.body ?? "" })
      }
    })
  )
})
