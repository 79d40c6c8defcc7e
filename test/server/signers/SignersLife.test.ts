// The end of signers: what keeps one from being deleted, and what is left of it.
import { assert } from "@effect/vitest"
import { Effect } from "effect"
import { SqlClient } from "effect/sql"
import { evmRelayer, notification } from "../../../testkit/fixtures.ts"
import { layerEach } from "../../../testkit/layerEach.ts"
import * as TestApi from "../../../testkit/TestApi.ts"
import { roleId, secretId } from "../../../testkit/Vault.ts"
import { key, keystore, passphrase, signers } from "./fixtures.ts"
import { created } from "./Created.ts"
import { verify } from "./requests.ts"

layerEach(created)("a signer", (it) => {
  it.effect("is not deleted while it is in use, and the error names up to ten of its relayers", () =>
    Effect.gen(function* () {
      const api = yield* TestApi.TestApi
      yield* api.call("/api/v1/notifications", { body: notification })
      for (const network of ["sepolia", "mainnet"]) {
        const body = { ...evmRelayer, id: `uses-${network}`, network, signer_id: "plain-1" }
        assert.strictEqual((yield* api.call("/api/v1/relayers", { body })).status, 201)
      }
      const refused = yield* api.call(`${signers}/plain-1`, { method: "DELETE" })
      assert.strictEqual(refused.status, 409)
      assert.deepStrictEqual(refused.json, {
        data: null,
        message: "Signer is in use",
        success: false,
        error: "used by relayers: uses-sepolia, uses-mainnet"
      })
      assert.isTrue((yield* verify("plain-1")).verified)

      const sql = yield* SqlClient.SqlClient
      yield* sql`
        INSERT INTO relayers (id, name, network_type, network, address, paused, signer_id)
        SELECT 'more-' || n, 'x', 'evm', 'n' || n, '0x', false, 'plain-1' FROM generate_series(1, 11) n`
      const many = yield* api.call(`${signers}/plain-1`, { method: "DELETE" })
      assert.strictEqual(
        many.json.error,
        `used by relayers: uses-sepolia, uses-mainnet, ${[1, 2, 3, 4, 5, 6, 7, 8].map((n) => `more-${n}`).join(", ")}, and more`
      )

      yield* sql`DELETE FROM relayers`
      const deleted = yield* api.call(`${signers}/plain-1`, { method: "DELETE" })
      assert.strictEqual(deleted.status, 200)
      assert.deepStrictEqual(deleted.json, { success: true, data: "Signer deleted successfully" })
    })
  )

  it.effect("is not found after it was deleted, and its id is free", () =>
    Effect.gen(function* () {
      const api = yield* TestApi.TestApi
      assert.strictEqual((yield* api.call(`${signers}/plain-1`, { method: "DELETE" })).status, 200)
      for (const [path, method] of [
        ["plain-1", "GET"],
        ["plain-1", "DELETE"],
        ["plain-1/verify", "POST"]
      ] as const) {
        const { status, json } = yield* api.call(`${signers}/${path}`, { method })
        assert.deepStrictEqual([status, json.message], [404, "Signer not found"])
      }
      const again = yield* api.call(signers, { body: { id: "plain-1", type: "plain" } })
      assert.strictEqual(again.status, 201)
      const taken = yield* api.call(signers, {
        body: { id: "plain-1", type: "local", config: { keystore, passphrase } }
      })
      assert.deepStrictEqual([taken.status, taken.json.message], [409, "Signer with this ID already exists"])
    })
  )

  it.effect("has audit records of its creation, verification and deletion, without secrets", () =>
    Effect.gen(function* () {
      const api = yield* TestApi.TestApi
      yield* api.call(`${signers}/local-1/verify`, { method: "POST" })
      yield* api.call(`${signers}/plain-1`, { method: "DELETE" })
      const sql = yield* SqlClient.SqlClient
      const records = yield* sql<{ action: string; resource_id: string; before: unknown; after: unknown }>`
        SELECT action, resource_id, before::text AS before, after::text AS after FROM audit
        WHERE resource = 'signer' ORDER BY id`
      assert.deepStrictEqual(
        records.map(({ action, resource_id, before, after }) => [action, resource_id, before !== null, after !== null]),
        [
          ["signer.created", "plain-1", false, true],
          ["signer.created", "local-1", false, true],
          ["signer.created", "vault-1", false, true],
          ["signer.created", "transit-1", false, true],
          ["signer.verified", "local-1", false, true],
          ["signer.deleted", "plain-1", true, false]
        ]
      )
      for (const secret of [key, passphrase, roleId, secretId]) assert.notInclude(JSON.stringify(records), secret)
    })
  )
})
