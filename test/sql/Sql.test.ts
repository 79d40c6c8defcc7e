// The layer that provides the database. PostgreSQL is a process, which runs by the clock of the machine.
import { PgClient } from "@effect/sql-pg"
import { assert, describe, inject, it } from "@effect/vitest"
import { Effect, Layer, Redacted } from "effect"
import { SqlClient } from "effect/sql"
import * as path from "node:path"
import { migrations, migrationsTable } from "../../src/sql/migrations/index.ts"
import { DatabaseError } from "../../src/sql/Connection.ts"
import * as Migrate from "../../src/sql/Migrate.ts"
import { connectionCounts, isCompatibleSchema } from "../../src/sql/Migrate.ts"
import * as EmbeddedPostgres from "../../src/sql/embedded/EmbeddedPostgres.ts"
import * as Sql from "../../src/sql/Sql.ts"
import { folder } from "../../testkit/process/Folder.ts"
import { clientConfig } from "../../testkit/Postgres.ts"
import * as TestDatabase from "../../testkit/TestDatabase.ts"

const failure = (url: string) =>
  Effect.gen(function* () {
    const error = yield* Effect.flip(Effect.scoped(Layer.build(Sql.layer({ _tag: "Url", url: Redacted.make(url) }))))
    assert.instanceOf(error, DatabaseError)
    assert.notInclude(error.message, "\n")
    return error.message
  })

describe.concurrent("Sql.layer", () => {
  it.live("migrates once, and reports a wrong password without showing it", () =>
    Effect.gen(function* () {
      const dataDir = path.join(yield* folder, "data")
      const { connection } = yield* EmbeddedPostgres.start({ dataDir, transport: "tcp" })
      const url = new URL(`postgres://relayer@127.0.0.1:${connection.port}/postgres`)
      const password = connection.password
      assert.isTrue(Redacted.isRedacted(password))
      url.password = Redacted.isRedacted(password) ? String(Redacted.value(password)) : ""

      for (const _ of ["migrates", "finds it done"]) {
        const rows = yield* Effect.gen(function* () {
          const sql = yield* SqlClient.SqlClient
          assert.isTrue(yield* isCompatibleSchema)
          const [connections] = yield* connectionCounts
          assert.isAtLeast(Number(connections?.count), 1)
          return yield* sql<{ readonly id: number }>`SELECT migration_id AS id FROM ${sql(migrationsTable)}`
        }).pipe(Effect.provide(Sql.layer({ _tag: "Url", url: Redacted.make(url.href) })), Effect.scoped)
        assert.lengthOf(rows, Object.keys(migrations).length)
      }

      url.password = "not-the-password"
      const refused = yield* failure(url.href)
      assert.strictEqual(
        refused,
        `the database at 127.0.0.1:${connection.port}/postgres refuses the user name or the password`
      )

      url.pathname = "/missing"
      url.password = Redacted.isRedacted(password) ? String(Redacted.value(password)) : ""
      assert.match(yield* failure(url.href), /^cannot use the database at .*"missing" does not exist$/)
    }).pipe(Effect.scoped)
  )

  it.live("reports a host that cannot be found", () =>
    Effect.gen(function* () {
      const message = yield* failure("postgres://relayer:url-secret@nowhere.invalid:6543/relayer")
      assert.match(message, /^cannot use the database at nowhere\.invalid:6543\/relayer: /)
      assert.notInclude(message, "url-secret")
    })
  )

  it.live("migrates an empty database once for concurrent starts, which all see the complete schema", () =>
    Effect.gen(function* () {
      const database = yield* TestDatabase.make
      const config = clientConfig(inject("postgres"), database)
      const client = PgClient.layer({ ...config, maxConnections: 1 })
      yield* Effect.gen(function* () {
        const sql = yield* SqlClient.SqlClient
        yield* sql`DROP SCHEMA public CASCADE`
        yield* sql`CREATE SCHEMA public`
      }).pipe(Effect.provide(client), Effect.scoped)
      const migrateAndLook = Effect.andThen(Migrate.migrate(database), isCompatibleSchema).pipe(
        Effect.provide(Layer.fresh(client)),
        Effect.scoped
      )
      const seen = yield* Effect.all(
        Array.from({ length: 4 }, () => migrateAndLook),
        { concurrency: "unbounded" }
      )
      assert.deepStrictEqual(seen, [true, true, true, true])
    })
  )
})
