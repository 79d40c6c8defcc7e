// Versions side by side: when a schema is changed under instances of an earlier version, and when an earlier version may start.
// PostgreSQL ends a transaction that blocks another one by the clock of the machine.
import { PgClient } from "@effect/sql-pg"
import { assert, describe, inject, it } from "@effect/vitest"
import { Cause, Effect, Exit, Fiber, Layer, Redacted } from "effect"
import { SqlClient } from "effect/sql"
import { TestClock } from "effect/testing"
import * as Services from "../../src/server/Services.ts"
import { latestMigration, migrateTo, migrations, migrationsTable } from "../../src/sql/migrations/index.ts"
import type { Migrations } from "../../src/sql/migrations/index.ts"
import * as Migration from "../../src/sql/migrations/Migration.ts"
import * as Sql from "../../src/sql/Sql.ts"
import { DatabaseError } from "../../src/sql/Connection.ts"
import * as Migrate from "../../src/sql/Migrate.ts"
import * as Session from "../../src/sql/Session.ts"
import { clientConfig } from "../../testkit/Postgres.ts"
import * as TestDatabase from "../../testkit/TestDatabase.ts"

/** A later version, whose migration is incompatible. */
const later: Migrations = { ...migrations, "0900_later": Migration.make("incompatible", Effect.void) }

/** A start on `database`. */
const start = (database: string, known = migrations) =>
  Migrate.migrate(database, known).pipe(
    Effect.provide(Layer.fresh(PgClient.layer({ ...clientConfig(inject("postgres"), database), maxConnections: 1 }))),
    Effect.scoped
  )

const on = <A, E>(database: string, applicationName: string, use: Effect.Effect<A, E, SqlClient.SqlClient>) =>
  use.pipe(
    Effect.provide(Layer.fresh(PgClient.layer({ ...clientConfig(inject("postgres"), database), applicationName }))),
    Effect.scoped
  )

const held = Effect.flatMap(SqlClient.SqlClient, (sql) => sql.reserve)

/** The schema of this version with a session on it, which the pool keeps open while `use` runs. */
const beside = <A, E>(applicationName: string, use: (database: string) => Effect.Effect<A, E, SqlClient.SqlClient>) =>
  Effect.gen(function* () {
    const database = yield* TestDatabase.make
    return yield* on(database, applicationName, Effect.scoped(Effect.andThen(held, use(database))))
  })

/** The answer of a start of the later version, which waits for the sessions of instances to end. */
const waited = (database: string) =>
  Effect.gen(function* () {
    const fiber = yield* Effect.forkChild(Effect.flip(start(database, later)))
    const error = yield* Effect.raceFirst(
      Fiber.join(fiber),
      Effect.forever(Effect.andThen(TestClock.adjust("1 second"), TestClock.withLive(Effect.sleep("10 millis"))))
    )
    assert.instanceOf(error, DatabaseError)
    return error
  })

describe("a schema that earlier versions do not work on", () => {
  it.effect("is refused while an instance of an earlier version is connected, and nothing changes", () =>
    beside("effect-relayer", (database) =>
      Effect.gen(function* () {
        const error = yield* waited(database)
        assert.strictEqual(error.reason, "OlderInstances")
        assert.match(
          error.message,
          new RegExp(
            `has schema ${latestMigration}, and instances of an earlier version are connected to it \\(1 sessions from`
          )
        )
        assert.include(error.message, "stop every instance of the earlier version")
        const sql = yield* SqlClient.SqlClient
        const [row] = yield* sql<{ latest: number }>`SELECT max(migration_id) AS latest FROM ${sql(migrationsTable)}`
        assert.strictEqual(row?.latest, latestMigration)
      })
    )
  )

  it.effect("is refused beside a host program, whose sessions have another name", () =>
    beside("a host program", (database) =>
      Effect.gen(function* () {
        const sql = yield* SqlClient.SqlClient
        yield* TestClock.withLive(Session.holdLock(sql, [1, 2], latestMigration))
        assert.strictEqual((yield* waited(database)).reason, "OlderInstances")
      }).pipe(Effect.scoped)
    )
  )

  it.effect("is applied when the instance has stopped, and beside the sessions of other programs", () =>
    Effect.gen(function* () {
      const stopped = yield* beside("effect-relayer", (database) => Effect.succeed(database))
      assert.deepStrictEqual(yield* start(stopped, later), ["0900_later"])
      assert.deepStrictEqual(yield* beside("psql", (database) => start(database, later)), ["0900_later"])
    })
  )
})

describe("an earlier version", () => {
  /** What a newer version did to the database. */
  const newer = (isCompatible: boolean) =>
    Effect.gen(function* () {
      const database = yield* TestDatabase.make
      yield* on(
        database,
        "psql",
        Effect.gen(function* () {
          const sql = yield* SqlClient.SqlClient
          yield* sql`INSERT INTO ${sql(migrationsTable)} (migration_id, name) VALUES (999, 'future')`
          if (!isCompatible) yield* sql`UPDATE schema_mark SET oldest = 999`
        })
      )
      return database
    })

  it.effect("starts on a newer schema if all newer migrations are compatible", () =>
    Effect.gen(function* () {
      assert.deepStrictEqual(yield* start(yield* newer(true)), [])
    })
  )

  it.effect("is refused on a newer schema with an incompatible migration", () =>
    Effect.gen(function* () {
      const error = yield* Effect.flip(start(yield* newer(false)))
      assert.strictEqual(error.reason, "SchemaTooNew")
    })
  )
})

describe("a host program with its own client", () => {
  const own = (database: string) => PgClient.layer(clientConfig(inject("postgres"), database))

  it.effect("gets an error that names the missing schema, and how to create it", () =>
    Effect.gen(function* () {
      const database = yield* TestDatabase.makeEmpty
      const secrets = Services.layerSecrets({ masterKey: Redacted.make(new Uint8Array(32).fill(7)) })
      const exit = yield* Effect.exit(Effect.scoped(Layer.build(Layer.provide(secrets, own(database)))))
      assert.isTrue(Exit.isFailure(exit))
      const text = Exit.isFailure(exit) ? Cause.pretty(exit.cause) : ""
      assert.include(text, "the database has no schema of the service, and this version needs")
      assert.include(text, "run Sql.migrate once")
    })
  )

  it.effect("creates the schema with Sql.migrate, once", () =>
    Effect.gen(function* () {
      const database = yield* TestDatabase.makeEmpty
      const [first, second] = yield* Effect.all([Sql.migrate, Sql.migrate]).pipe(
        Effect.provide(own(database)),
        Effect.scoped
      )
      assert.deepStrictEqual(first, Object.keys(migrations))
      assert.deepStrictEqual(second, [])
    })
  )
})

describe("the mark of the schema", () => {
  const markOf = (database: string) =>
    on(
      database,
      "psql",
      Effect.flatMap(SqlClient.SqlClient, (sql) => sql<{ oldest: number }>`SELECT oldest FROM schema_mark`)
    )

  it.effect("is the number of the newest incompatible migration after the baseline", () =>
    Effect.gen(function* () {
      const database = yield* TestDatabase.make
      yield* start(database, { ...later, "0901_addition": Migration.make("compatible", Effect.void) })
      assert.deepStrictEqual(yield* markOf(database), [{ oldest: 900 }])
    })
  )

  it.effect("is the newest incompatible migration in a new database", () =>
    Effect.gen(function* () {
      assert.deepStrictEqual(yield* markOf(yield* TestDatabase.make), [{ oldest: 82 }])
    })
  )
})

/** Two migrations, the first of which makes an index of attempts, the second one of transactions. */
const indexes: Migrations = {
  ...migrations,
  "0900_attempts": Migration.make(
    "compatible",
    Effect.flatMap(SqlClient.SqlClient, (sql) => sql`CREATE INDEX later_attempts_idx ON attempts (epoch)`)
  ),
  "0901_transactions": Migration.make(
    "compatible",
    Effect.flatMap(SqlClient.SqlClient, (sql) => sql`CREATE INDEX later_transactions_idx ON transactions (trace)`)
  )
}

it.live("a migration that PostgreSQL ends because an instance writes beside it is repeated", () =>
  Effect.gen(function* () {
    const database = yield* TestDatabase.make
    const names = yield* on(
      database,
      "psql",
      Effect.gen(function* () {
        const sql = yield* SqlClient.SqlClient
        const isWaiting = sql`
          SELECT 1 FROM pg_locks WHERE NOT granted AND pg_backend_pid() = ANY(pg_blocking_pids(pid))`
        // As an instance that changes a transaction, then stores its attempt. The migrations create an index of attempts, then one of
        // transactions.
        const writing = Effect.gen(function* () {
          yield* sql`SET LOCAL deadlock_timeout = '1min'`
          yield* sql`LOCK TABLE transactions IN ROW EXCLUSIVE MODE`
          const migrating = yield* Effect.forkChild(start(database, indexes))
          yield* Effect.repeat(isWaiting, { until: (rows) => rows.length > 0 })
          yield* sql`LOCK TABLE attempts IN ROW EXCLUSIVE MODE`
          return migrating
        })
        return yield* Fiber.join(yield* sql.withTransaction(writing))
      })
    )
    assert.deepStrictEqual(names, ["0900_attempts", "0901_transactions"])
  })
)

it.effect("a migration that fails changes nothing, also not what the migrations before it did", () =>
  Effect.gen(function* () {
    const database = yield* TestDatabase.make
    const broken = Effect.flatMap(
      SqlClient.SqlClient,
      (sql) => sql`CREATE INDEX broken_idx ON attempts (no_such_column)`
    )
    const known = { ...indexes, "0902_broken": Migration.make("compatible", broken) }
    const error = yield* Effect.flip(start(database, known))
    assert.strictEqual(error.reason, "MigrationFailed")
    assert.match(error.message, /^migration failed on .*: Migration "0902_broken" failed$/)
    const left = yield* on(
      database,
      "psql",
      Effect.flatMap(
        SqlClient.SqlClient,
        (sql) => sql`
          SELECT to_regclass('later_attempts_idx') AS index, (SELECT max(migration_id) FROM ${sql(migrationsTable)}) AS latest`
      )
    )
    assert.deepStrictEqual(left, [{ index: null, latest: latestMigration }])
  })
)

it.effect("a migration that landed below the newest one of a database is applied", () =>
  Effect.gen(function* () {
    const database = yield* TestDatabase.make
    const answers = yield* on(
      database,
      "psql",
      Effect.gen(function* () {
        const sql = yield* SqlClient.SqlClient
        yield* migrateTo({ known: indexes })
        const index = Effect.map(
          sql<{ found: boolean }>`SELECT to_regclass('later_attempts_idx') IS NOT NULL AS found`,
          ([row]) => row?.found
        )
        yield* sql`DROP INDEX later_attempts_idx`
        yield* sql`DELETE FROM ${sql(migrationsTable)} WHERE name = 'attempts'`
        const gone = yield* index
        const names = yield* migrateTo({ known: indexes })
        return { gone, names, there: yield* index, again: yield* migrateTo({ known: indexes }) }
      })
    )
    assert.deepStrictEqual(answers, { gone: false, names: ["0900_attempts"], there: true, again: [] })
  })
)
