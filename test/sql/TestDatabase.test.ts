// What a test finds in its database does not depend on the tests before it.
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { SqlClient } from "effect/sql"
import * as TestDatabase from "../../testkit/TestDatabase.ts"

/** What a test does in its database, and the name of that. */
const inDatabase = <E>(use: (sql: SqlClient.SqlClient) => Effect.Effect<unknown, E>) =>
  Effect.gen(function* () {
    const sql = yield* SqlClient.SqlClient
    yield* use(sql)
    const [row] = yield* sql<{ readonly name: string }>`SELECT current_database() AS name`
    return row?.name ?? assert.fail("no name")
  }).pipe(Effect.provide(TestDatabase.layer, { local: true }), Effect.scoped)

/** The name of the database of the next test, which has to be in the state of a new one. */
const next = inDatabase((sql) =>
  Effect.gen(function* () {
    const found = yield* sql`
      SELECT (SELECT count(*) FROM audit)::int AS records, (SELECT count(*) FROM schema_mark)::int AS marks,
        nextval(pg_get_serial_sequence('relayers', 'seq'))::int AS seq, to_regclass('left_behind') IS NULL AS clean`
    assert.deepStrictEqual(found, [{ records: 0, marks: 1, seq: 1, clean: true }])
  })
)

describe("a database that a test gives back", () => {
  it.effect("is used by the next test, without its rows and with sequences that begin again", () =>
    Effect.gen(function* () {
      const name = yield* inDatabase((sql) =>
        Effect.gen(function* () {
          yield* sql`INSERT INTO audit (key_id, action, resource, resource_id) VALUES ('a', 'relayer.created', 'relayer', 'b')`
          yield* sql`DELETE FROM schema_mark`
          yield* sql`SELECT nextval(pg_get_serial_sequence('relayers', 'seq'))`
        })
      )
      assert.strictEqual(yield* next, name)
    })
  )

  it.effect("is dropped if its schema changed", () =>
    Effect.gen(function* () {
      const name = yield* inDatabase((sql) => sql`CREATE TABLE left_behind (value int)`)
      assert.notStrictEqual(yield* next, name)
    })
  )

  it.effect("is dropped if a trigger is switched off", () =>
    Effect.gen(function* () {
      const name = yield* inDatabase((sql) => sql`ALTER TABLE audit DISABLE TRIGGER USER`)
      assert.notStrictEqual(yield* next, name)
    })
  )

  it.effect("is dropped if a session holds a lock", () =>
    Effect.gen(function* () {
      const name = yield* inDatabase((sql) => sql`SELECT pg_advisory_lock(1)`)
      assert.notStrictEqual(yield* next, name)
    })
  )

  it.effect("is dropped if it has grown, because emptying it would take longer", () =>
    Effect.gen(function* () {
      const name = yield* inDatabase(
        (sql) => sql`
          INSERT INTO audit (key_id, action, resource, resource_id)
          SELECT repeat('a', 200), 'relayer.created', 'relayer', 'b' FROM generate_series(1, 20000)`
      )
      assert.notStrictEqual(yield* next, name)
    })
  )
})
