// Databases from before the baseline: which of them are taken over, and how the others are refused.
import { PgClient } from "@effect/sql-pg"
import { assert, describe, inject, it } from "@effect/vitest"
import { Effect, Exit, Layer } from "effect"
import { SqlClient } from "effect/sql"
import { former, isListed, lastReader, migrationsTable } from "../../../src/sql/migrations/Former.ts"
import baseline from "../../../src/sql/migrations/0073_baseline.ts"
import { migrations as all } from "../../../src/sql/migrations/index.ts"
import type { Migrations } from "../../../src/sql/migrations/index.ts"
import * as Migration from "../../../src/sql/migrations/Migration.ts"
import { tables } from "../../../src/sql/migrations/objects.ts"
import { DatabaseError } from "../../../src/sql/Connection.ts"
import * as Migrate from "../../../src/sql/Migrate.ts"
import * as FormerDatabase from "../../../testkit/FormerDatabase.ts"
import { clientConfig } from "../../../testkit/Postgres.ts"
import * as TestDatabase from "../../../testkit/TestDatabase.ts"

/** Sessions of an instance. */
const on = <A, E>(database: string, use: Effect.Effect<A, E, SqlClient.SqlClient>) =>
  use.pipe(
    Effect.provide(
      Layer.fresh(PgClient.layer({ ...clientConfig(inject("postgres"), database), applicationName: "effect-relayer" }))
    ),
    Effect.scoped
  )

/** The baseline alone: what takes such a database over. The databases of tests have the tables of later migrations. */
const baselineOnly = { "0073_baseline": baseline }

const start = (database: string, known: Migrations = baselineOnly) =>
  Migrate.migrate(database, known).pipe(
    Effect.provide(Layer.fresh(PgClient.layer({ ...clientConfig(inject("postgres"), database), maxConnections: 1 }))),
    Effect.scoped
  )

/** A database with the tables of the baseline and this list of migrations. */
const listed = (given: Iterable<readonly [number, string]> = former) =>
  Effect.tap(TestDatabase.make, (database) => on(database, FormerDatabase.makeList(given)))

const listOf = (database: string) => on(database, FormerDatabase.list)

const takenOver: ReadonlyArray<readonly [number, string]> = [[73, "baseline"]]

/** Every row of every table, as text. */
const content = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  return yield* Effect.forEach(
    tables,
    (table) => sql`SELECT ${table} AS name, t::text AS row FROM ${sql(table)} t ORDER BY 2`
  )
})

/** The error of a start, which changes nothing. */
const refusal = Effect.fnUntraced(function* (database: string) {
  const before = yield* listOf(database)
  const error = yield* Effect.flip(start(database))
  assert.instanceOf(error, DatabaseError)
  assert.strictEqual(error.reason, "SchemaTooOld")
  assert.notInclude(error.message, "\n")
  assert.deepStrictEqual(yield* listOf(database), before)
  return error.message
})

describe("a database with all migrations that the baseline replaced", () => {
  it.effect("is taken over: its list of migrations becomes the baseline, and nothing else changes", () =>
    Effect.gen(function* () {
      const database = yield* listed()
      const filled = Effect.gen(function* () {
        const sql = yield* SqlClient.SqlClient
        yield* sql`INSERT INTO signers (id, type, mac) VALUES ('a', 'vault', 'mac')`
        yield* sql`
          INSERT INTO relayers (id, name, network_type, network, address, paused, signer_id)
          VALUES ('a', 'a', 'evm', 'sepolia', '0x', false, 'a')`
        return yield* content
      })
      const before = yield* on(database, filled)
      assert.deepStrictEqual(yield* start(database), [])
      assert.deepStrictEqual(yield* listOf(database), takenOver)
      assert.deepStrictEqual(yield* on(database, content), before)
      assert.deepStrictEqual(yield* start(database), [])
    })
  )

  it.effect("is taken over beside an instance of an earlier version, once by several starts at the same moment", () =>
    Effect.gen(function* () {
      const database = yield* listed()
      const starts = Effect.gen(function* () {
        yield* (yield* SqlClient.SqlClient).reserve
        return yield* Effect.all(
          Array.from({ length: 4 }, () => start(database)),
          { concurrency: "unbounded" }
        )
      })
      assert.deepStrictEqual(yield* on(database, Effect.scoped(starts)), [[], [], [], []])
      assert.deepStrictEqual(yield* listOf(database), takenOver)
    })
  )

  it.effect("keeps its list if the start ends before its commit, and the next start takes it over", () =>
    Effect.gen(function* () {
      const database = yield* listed()
      const failAtCommit = Effect.gen(function* () {
        const sql = yield* SqlClient.SqlClient
        yield* sql`
          CREATE FUNCTION fault() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RAISE EXCEPTION ''a fault at the commit''; END'`
        yield* sql`
          CREATE CONSTRAINT TRIGGER fault AFTER INSERT ON ${sql(migrationsTable)} DEFERRABLE INITIALLY DEFERRED
            FOR EACH ROW EXECUTE FUNCTION fault()`
      })
      yield* on(database, failAtCommit)
      assert.isTrue(Exit.isFailure(yield* Effect.exit(start(database))))
      assert.deepStrictEqual(yield* listOf(database), [...former])
      yield* on(
        database,
        Effect.flatMap(SqlClient.SqlClient, (sql) => sql`DROP FUNCTION fault() CASCADE`)
      )
      assert.deepStrictEqual(yield* start(database), [])
      assert.deepStrictEqual(yield* listOf(database), takenOver)
    })
  )

  it.effect("keeps the later migrations that it has, and gets those that it lacks", () =>
    Effect.gen(function* () {
      const nothing = Migration.make("compatible", Effect.void)
      const known = { ...baselineOnly, "0900_one": nothing, "0901_two": nothing }
      const database = yield* listed([...former, [901, "two"]])
      assert.deepStrictEqual(yield* start(database, known), ["0900_one"])
      assert.deepStrictEqual(yield* listOf(database), [...takenOver, [900, "one"], [901, "two"]])
    })
  )

  it.effect("is refused if its secrets have a format that only earlier versions read", () =>
    Effect.gen(function* () {
      const database = yield* listed()
      const older = Effect.flatMap(
        SqlClient.SqlClient,
        (sql) => sql`INSERT INTO master_key (sealed, key_id) VALUES ('\\x0272cd6e84', '72cd6e84')`
      )
      yield* on(database, older)
      assert.match(
        yield* refusal(database),
        new RegExp(`has secrets in a format .* effect-relayer rotate-key .* commit ${lastReader} of effect-relayer`)
      )
    })
  )
})

describe("a database of an earlier schema", () => {
  const names = [...former]

  it.effect("is refused with the last version that reads it, also beside an instance, and nothing changes", () =>
    Effect.gen(function* () {
      for (const count of [1, 15, 30, names.length - 1]) {
        const given = names.slice(0, count)
        const database = yield* listed(given)
        const held = Effect.andThen(
          Effect.flatMap(SqlClient.SqlClient, (sql) => sql.reserve),
          refusal(database)
        )
        const message = yield* on(database, Effect.scoped(held))
        assert.include(
          message,
          `has schema ${given.at(-1)?.[0]}, and this version reads none before 73: commit ${lastReader} of effect-relayer is the last one that does`
        )
        assert.include(message, "nothing was changed")
      }
    })
  )

  it.effect("is refused by its list alone, whatever tables it has", () =>
    Effect.gen(function* () {
      const database = yield* TestDatabase.makeEmpty
      const only = Effect.gen(function* () {
        const sql = yield* SqlClient.SqlClient
        yield* sql`
          CREATE TABLE ${sql(migrationsTable)} (
            migration_id integer PRIMARY KEY, created_at timestamptz NOT NULL DEFAULT now(), name text NOT NULL)`
        yield* FormerDatabase.makeList(names.slice(0, 7))
      })
      yield* on(database, only)
      assert.include(yield* refusal(database), "has schema 7, and this version reads none before 73")
    })
  )

  it.effect("is refused if it lacks a migration between the others, which the answer names", () =>
    Effect.gen(function* () {
      const database = yield* listed(names.filter(([, name]) => name !== "commands" && name !== "yields"))
      assert.include(
        yield* refusal(database),
        "has schema 73 without 0043_commands, 0047_yields, and this version does not"
      )
    })
  )

  it.effect("is refused if it has a migration below the baseline that no version made", () =>
    Effect.gen(function* () {
      const unknown = yield* listed([...names, [60, "other"]])
      assert.include(yield* refusal(unknown), "has the migration 0060_other, which this version does not know")
      const renamed = yield* listed(names.map(([id, name]) => [id, id === 43 ? "orders" : name] as const))
      assert.include(yield* refusal(renamed), "has the migration 0043_orders, which this version does not know")
    })
  )

  it.effect("is refused by commands that do not migrate with the same words", () =>
    Effect.gen(function* () {
      const database = yield* listed(names.filter(([id]) => id <= 30))
      const missing = yield* on(database, Migrate.missingSchema)
      assert.include(
        missing,
        `the database has schema 30, and this version reads none before 73: commit ${lastReader} of`
      )
    })
  )
})

it.effect("a database of a later baseline gets none of the tables of this one", () =>
  Effect.gen(function* () {
    const database = yield* listed([[120, "baseline"]])
    assert.deepStrictEqual(yield* start(database, all), [])
    assert.deepStrictEqual(yield* listOf(database), [[120, "baseline"]])
  })
)

describe("an empty database", () => {
  it.effect("is found with a list of migrations by a session that has looked for one before another made it", () =>
    Effect.gen(function* () {
      const database = yield* TestDatabase.makeEmpty
      const isListedLater = Effect.gen(function* () {
        const sql = yield* SqlClient.SqlClient
        return yield* sql.withTransaction(
          Effect.gen(function* () {
            const before = yield* isListed
            yield* on(
              database,
              Effect.flatMap(
                SqlClient.SqlClient,
                (other) => other`CREATE TABLE ${other(migrationsTable)} (migration_id int)`
              )
            )
            return [before, yield* isListed]
          })
        )
      })
      assert.deepStrictEqual(yield* on(database, isListedLater), [false, true])
    })
  )
})
