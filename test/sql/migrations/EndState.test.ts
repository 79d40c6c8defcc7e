// What the migrations together leave behind: conditions and indexes of the tables, as PostgreSQL has them.
import { PgClient } from "@effect/sql-pg"
import { assert, it } from "@effect/vitest"
import { Effect, Layer } from "effect"
import { SqlClient } from "effect/sql"
import { inspect } from "node:util"
import { inject } from "vitest"
import { clientConfig } from "../../../testkit/Postgres.ts"
import * as TestDatabase from "../../../testkit/TestDatabase.ts"

const migrated = Layer.unwrap(
  Effect.map(TestDatabase.make, (name) => PgClient.layer(clientConfig(inject("postgres"), name)))
)

const conditionsOn = Effect.fnUntraced(function* (column: string) {
  const sql = yield* SqlClient.SqlClient
  const rows = yield* sql<{ definition: string }>`
    SELECT pg_get_constraintdef(c.oid) AS definition FROM pg_constraint c
    JOIN pg_attribute a ON a.attrelid = c.conrelid AND a.attnum = ANY(c.conkey)
    WHERE c.conrelid = 'transactions'::regclass AND c.contype = 'c' AND a.attname = ${column}`
  return rows.map(({ definition }) => definition)
})

it.layer(migrated)("the end state of the migrations", (it) => {
  it.effect("no condition restricts the origin of a transaction to names of one network type", () =>
    Effect.gen(function* () {
      assert.deepStrictEqual(yield* conditionsOn("origin"), [])
    })
  )

  it.effect("a mined transaction needs an attempt or a receipt of any network type", () =>
    Effect.gen(function* () {
      assert.deepStrictEqual(yield* conditionsOn("mined_attempt"), [
        "CHECK (((state <> ALL (ARRAY['mined'::text, 'confirmed'::text])) OR (mined_attempt IS NOT NULL) OR (receipt IS NOT NULL)))"
      ])
    })
  )

  it.effect(
    "pending transactions and relayers without a notification have no entry in the indexes of these columns",
    () =>
      Effect.gen(function* () {
        const sql = yield* SqlClient.SqlClient
        const indexes = yield* sql<{ name: string; condition: string | null }>`
        SELECT indexrelid::regclass::text AS name, pg_get_expr(indpred, indrelid) AS condition FROM pg_index
        WHERE indexrelid IN ('transactions_nonce_key'::regclass, 'relayers_notification_id_idx'::regclass) ORDER BY 1`
        assert.deepStrictEqual(indexes, [
          { name: "relayers_notification_id_idx", condition: "(notification_id IS NOT NULL)" },
          { name: "transactions_nonce_key", condition: "(nonce IS NOT NULL)" }
        ])
      })
  )

  it.effect("an API key has one limit of fees for each network type", () =>
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const limit = (network_type: string | null, maximum: string) =>
        sql`INSERT INTO api_key_fee_limits (key_id, network_type, maximum) VALUES ('key', ${network_type}, ${maximum}::numeric)`
      yield* limit("evm", String(2n ** 200n))
      yield* limit("solana", "5")
      assert.deepStrictEqual(
        yield* sql`SELECT key_id, network_type, maximum::text AS maximum FROM api_key_fee_limits ORDER BY network_type`,
        [
          { key_id: "key", network_type: "evm", maximum: String(2n ** 200n) },
          { key_id: "key", network_type: "solana", maximum: "5" }
        ]
      )
      assert.include(inspect(yield* Effect.flip(limit("evm", "5"))), "api_key_fee_limits_pkey")
      assert.include(inspect(yield* Effect.flip(limit(null, "5"))), "network_type")
    })
  )

  it.effect("a linked record is not changed, and the link itself takes no lock before its update", () =>
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      yield* sql`INSERT INTO audit (key_id, action, resource, resource_id) VALUES ('k', 'relayer.created', 'relayer', 'r')`
      yield* sql`UPDATE audit SET position = 1, hash = '\\x00'`
      const changed = yield* Effect.flip(sql`UPDATE audit SET key_id = 'other'`)
      assert.include(inspect(changed), "rows of the audit log are never changed")
      assert.deepStrictEqual(yield* sql`SELECT key_id FROM audit`, [{ key_id: "k" }])
      const before = yield* sql`
        SELECT tgname FROM pg_trigger WHERE tgrelid = 'audit'::regclass AND tgname = 'audit_update' AND (tgtype & 2) <> 0`
      assert.deepStrictEqual(before, [])
    })
  )
})
