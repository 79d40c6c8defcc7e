// The list of sealed columns against the schema.
import { assert, layer } from "@effect/vitest"
import { Effect } from "effect"
import { SqlClient } from "effect/sql"
import * as ProtectedRowsRepo from "../../../src/server/masterKey/ProtectedRowsRepo.ts"
import { sealedColumns } from "../../../src/server/masterKey/ProtectedRowsRepo.ts"
import * as TestDatabase from "../../../testkit/TestDatabase.ts"
import { insertSigner } from "./Start.ts"

const inSchema = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  const rows = yield* sql<{ name: string }>`
    SELECT table_name || '.' || column_name AS name FROM information_schema.columns
    WHERE table_schema = 'public' AND data_type = 'bytea' AND column_name LIKE '%sealed'`
  // The marks of master keys are what is checked, not what is kept.
  return rows.map(({ name }) => name).filter((name) => name !== "master_key.sealed")
})

layer(TestDatabase.layer)("sealedColumns", (it) => {
  it.effect("lists every column of the schema that contains sealed values", () =>
    Effect.gen(function* () {
      const listed = sealedColumns.map(({ table, sealed }) => `${table}.${sealed}`)
      assert.sameMembers(listed, yield* inSchema)
    })
  )

  it.effect("gives every column a different place", () =>
    Effect.sync(() => {
      const places = sealedColumns.map(({ table, column }) => `${table}.${column}`)
      assert.strictEqual(new Set(places).size, places.length)
    })
  )

  it.effect("are guarded by foreign keys against values of a key without a mark", () =>
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const guards = yield* sql<{ name: string; expression: string }>`
        SELECT c.conrelid::regclass || '.' || a.attname AS name, pg_get_expr(d.adbin, d.adrelid) AS expression
        FROM pg_constraint c
        JOIN pg_attribute a ON a.attrelid = c.conrelid AND a.attnum = c.conkey[1]
        JOIN pg_attrdef d ON d.adrelid = a.attrelid AND d.adnum = a.attnum
        WHERE c.contype = 'f' AND c.confrelid = 'master_key'::regclass AND a.attgenerated = 's'`
      assert.sameMembers(
        guards.map(({ name }) => name),
        (yield* inSchema).map((name) => `${name}_key_id`)
      )
      for (const { name, expression } of guards) {
        assert.include(expression, name.slice(name.indexOf(".") + 1).replace(/_key_id$/, ""))
      }
    })
  )
})

layer(TestDatabase.layer)("SealedRepo", (it) => {
  // Too short to be sealed: what they are does not matter here.
  const [read, changed, rewrapped] = [Uint8Array.of(1), Uint8Array.of(2), Uint8Array.of(3)]
  const column = sealedColumns.find(({ sealed }) => sealed === "key_sealed") ?? assert.fail("no signers' keys")

  it.effect("replaces values that have not changed since they were read, and no others", () =>
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const repo = yield* ProtectedRowsRepo.makeSealedRepo
      for (const id of ["a", "b", "c"]) yield* insertSigner(id, read)
      const stale = yield* repo.stale(column, rewrapped, "", 10)
      assert.deepStrictEqual(
        stale.map(({ id, sealed }) => [id, [...sealed]]),
        ["a", "b", "c"].map((id) => [id, [...read]])
      )
      yield* sql`UPDATE signers SET key_sealed = ${changed} WHERE id = 'b'`
      yield* sql`DELETE FROM signers WHERE id = 'c'`
      const replaced = yield* repo.replace(
        column,
        stale.map((value) => ({ ...value, rewrapped }))
      )
      assert.strictEqual(replaced, 1)
      const rows = yield* sql<{ key_sealed: Uint8Array }>`SELECT key_sealed FROM signers ORDER BY id`
      assert.deepStrictEqual(
        rows.map(({ key_sealed }) => [...key_sealed]),
        [[...rewrapped], [...changed]]
      )
      const left = yield* repo.stale(column, rewrapped, "", 10)
      assert.deepStrictEqual(
        left.map(({ id }) => id),
        ["b"]
      )
      assert.isTrue(yield* repo.anyStale(rewrapped))
      yield* sql`DELETE FROM signers WHERE id = 'b'`
      assert.isFalse(yield* repo.anyStale(rewrapped))
    })
  )
})
