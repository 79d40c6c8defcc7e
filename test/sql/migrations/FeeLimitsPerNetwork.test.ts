// Migration 26 keeps the limits of fees, which are all in wei, as those of evm.
import { PgClient } from "@effect/sql-pg"
import { assert, it } from "@effect/vitest"
import { Effect, Layer } from "effect"
import { SqlClient } from "effect/sql"
import { inject } from "vitest"
import { migrateTo } from "../../../src/sql/migrations/index.ts"
import * as TestDatabase from "../../../testkit/TestDatabase.ts"
import { clientConfig } from "../../../testkit/Postgres.ts"

const empty = Layer.unwrap(
  Effect.map(TestDatabase.makeEmpty, (name) => PgClient.layer(clientConfig(inject("postgres"), name)))
)

it.effect("a limit of fees of an older schema is the limit of its key for evm, and other types can be added", () =>
  Effect.gen(function* () {
    const sql = yield* SqlClient.SqlClient
    yield* migrateTo(25)
    yield* sql`INSERT INTO api_key_fee_limits (key_id, maximum) VALUES ('key', ${String(2n ** 200n)}::numeric)`
    yield* migrateTo(26)
    yield* sql`INSERT INTO api_key_fee_limits (key_id, network_type, maximum) VALUES ('key', 'solana', 5)`
    assert.deepStrictEqual(
      yield* sql`SELECT key_id, network_type, maximum::text AS maximum FROM api_key_fee_limits ORDER BY network_type`,
      [
        { key_id: "key", network_type: "evm", maximum: String(2n ** 200n) },
        { key_id: "key", network_type: "solana", maximum: "5" }
      ]
    )
    const twice = sql`INSERT INTO api_key_fee_limits (key_id, network_type, maximum) VALUES ('key', 'evm', 5)`
    assert.isTrue((yield* Effect.exit(twice))._tag === "Failure")
    const unnamed = sql`INSERT INTO api_key_fee_limits (key_id, maximum) VALUES ('other', 5)`
    assert.isTrue((yield* Effect.exit(unnamed))._tag === "Failure")
  }).pipe(Effect.provide(empty), Effect.scoped)
)
