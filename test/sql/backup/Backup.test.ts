import { assert, describe, it } from "@effect/vitest"
import { PgClient } from "@effect/sql-pg"
import { Effect, Layer } from "effect"
import { SqlClient } from "effect/sql"
import { inject } from "vitest"
import * as Backup from "../../../src/sql/backup/Backup.ts"
import * as Restore from "../../../src/sql/backup/Restore.ts"
import { lastReader } from "../../../src/sql/migrations/Former.ts"
import { latestMigration, migrationsTable } from "../../../src/sql/migrations/index.ts"
import { functions, tables } from "../../../src/sql/migrations/objects.ts"
import { evmRelayer, notification, signer } from "../../../testkit/fixtures.ts"
import { clientConfig } from "../../../testkit/Postgres.ts"
import * as Backups from "../../../testkit/Backups.ts"
import * as TestApi from "../../../testkit/TestApi.ts"
import * as TestDatabase from "../../../testkit/TestDatabase.ts"

const connection = (name: string, applicationName = "backup-test") =>
  PgClient.layer({
    ...clientConfig(inject("postgres"), name),
    applicationName,
    maxConnections: 1,
    startupParameters: { TimeZone: "UTC" }
  })

/** A single connection to a database without a schema. */
const empty = Layer.unwrap(Effect.map(TestDatabase.makeEmpty, (name) => connection(name)))

/** Every row of every table as text, generated columns included. A restore removes the mark of the ledger. */
const content = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  const found: Record<string, ReadonlyArray<unknown>> = {}
  for (const table of tables.filter((name) => name !== "ledger_mark")) {
    found[table] = yield* sql`SELECT t::text AS row FROM ${sql(table)} t ORDER BY 1`
  }
  return found
})

/** Deferred foreign keys and disabled triggers, which a restore must not leave behind. */
const loosened = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  return yield* sql`
    SELECT conname AS name FROM pg_constraint WHERE condeferrable
    UNION SELECT tgname FROM pg_trigger WHERE tgenabled = 'D'`
})

const filled = Effect.gen(function* () {
  const { call } = yield* TestApi.TestApi
  for (const [path, body] of [
    ["signers", signer],
    ["notifications", notification],
    ["networks", { name: "own", network_type: "evm", from: "sepolia", chain_id: 7 }],
    ["relayers", { ...evmRelayer, name: 'quotes " \\ and \u2028 and ünï' }],
    ["api-keys", { name: "reader", scopes: ["relayers:read"] }]
  ] as const) {
    const headers = { "idempotency-key": `create-${path}` }
    const { status, text } = yield* call(`/api/v1/${path}`, { body, headers })
    assert.strictEqual(status, 201, text)
  }
  yield* (yield* SqlClient.SqlClient)`
    INSERT INTO channel_keys (address, key_sealed) SELECT 'G' || id, key_sealed FROM signers`
  // Links the records of the audit log.
  yield* call("/api/v1/audit")
})

/** A database with a row in nearly every table, and its backup. */
const backedUp = Effect.gen(function* () {
  yield* filled
  return { lines: yield* Backups.snapshot, before: yield* content }
}).pipe(Effect.provide(TestApi.layer(), { local: true }))

const on = <A, E, E2>(database: Layer.Layer<SqlClient.SqlClient, E2>, self: Effect.Effect<A, E, SqlClient.SqlClient>) =>
  Effect.provide(self, database, { local: true })

describe("backup and restore", () => {
  it.effect("name every table and function that the migrations create", () =>
    on(
      TestDatabase.layer,
      Effect.gen(function* () {
        const sql = yield* SqlClient.SqlClient
        const names = (rows: ReadonlyArray<{ readonly name: string }>) => rows.map(({ name }) => name)
        const existing = yield* sql<{ name: string }>`
          SELECT tablename AS name FROM pg_tables WHERE schemaname = 'public' AND tablename <> ${migrationsTable} ORDER BY 1`
        assert.deepStrictEqual(names(existing), [...tables].sort())
        const defined = yield* sql<{ name: string }>`
          SELECT proname AS name FROM pg_proc WHERE pronamespace = 'public'::regnamespace ORDER BY 1`
        assert.deepStrictEqual(names(defined), [...functions].sort())
      })
    )
  )

  it.effect("reproduce every row of every table in an empty database", () =>
    Effect.gen(function* () {
      const { lines, before } = yield* backedUp
      yield* on(
        empty,
        Effect.gen(function* () {
          yield* Backups.restore(lines)
          assert.deepStrictEqual(yield* content, before)
          assert.isEmpty(yield* loosened)
          const sql = yield* SqlClient.SqlClient
          assert.isEmpty(yield* sql`SELECT FROM ledger_mark`)
          const [row] = yield* sql<{ next: string }>`
            INSERT INTO signers (id, type) VALUES ('later', 'plain') RETURNING seq::text AS next`
          assert.strictEqual(row?.next, "2")
        })
      )
    })
  )

  it.effect("replace what a database contains", () =>
    Effect.gen(function* () {
      const { lines, before } = yield* backedUp
      yield* on(
        TestDatabase.layerNamed("backup-test"),
        Effect.gen(function* () {
          const sql = yield* SqlClient.SqlClient
          assert.isTrue(yield* Restore.isEmpty)
          yield* sql`INSERT INTO signers (id, type) VALUES ('other', 'plain')`
          assert.isFalse(yield* Restore.isEmpty)
          yield* Backups.restore(lines)
          assert.deepStrictEqual(yield* content, before)
        })
      )
    })
  )

  it.effect("are not made of a schema from before the baseline, whose last version is named", () =>
    on(
      TestDatabase.layerNamed("backup-test"),
      Effect.gen(function* () {
        const sql = yield* SqlClient.SqlClient
        yield* sql`DELETE FROM ${sql(migrationsTable)} WHERE migration_id > 73`
        yield* sql`UPDATE ${sql(migrationsTable)} SET migration_id = 30`
        const { message } = yield* Effect.flip(Backups.snapshot)
        assert.include(message, `has schema 30, and this version reads none before 73: commit ${lastReader} of`)
      })
    )
  )

  it.effect("with secrets in a format of earlier versions are refused, and change nothing", () =>
    Effect.gen(function* () {
      const lines = yield* on(
        TestDatabase.layerNamed("backup-test"),
        Effect.gen(function* () {
          const sql = yield* SqlClient.SqlClient
          yield* sql`INSERT INTO master_key (sealed, key_id) VALUES ('\\x0272cd6e84', '72cd6e84')`
          return yield* Backups.snapshot
        })
      )
      yield* on(
        TestDatabase.layerNamed("backup-test"),
        Effect.gen(function* () {
          const before = yield* content
          const { message } = yield* Effect.flip(Backups.restore(lines))
          assert.include(message, "the backup has secrets in a format that this version does not read")
          assert.deepStrictEqual(yield* content, before)
        })
      )
    })
  )

  it.effect("are of one moment: rows that are written during the backup are not in it", () =>
    Effect.gen(function* () {
      const name = yield* TestDatabase.make
      yield* on(
        connection(name),
        Effect.gen(function* () {
          const rows: Array<string> = []
          let written = false
          const meanwhile = on(
            connection(name),
            Effect.flatMap(SqlClient.SqlClient, (sql) => sql`INSERT INTO signers (id, type) VALUES ('new', 'plain')`)
          )
          yield* Backup.take({
            write: Effect.fnUntraced(function* (line) {
              rows.push(line)
              if (written) return
              written = true
              yield* meanwhile
            }),
            end: (footer) => Effect.sync(() => void rows.push(footer(""))),
            progress: () => Effect.void
          })
          assert.notInclude(rows.join("\n"), '"new"')
        })
      )
    }).pipe(Effect.scoped)
  )

  it.effect("are refused while an instance is connected", () =>
    Effect.gen(function* () {
      const { lines } = yield* backedUp
      const name = yield* TestDatabase.make
      yield* on(
        connection(name, "effect-relayer"),
        Effect.gen(function* () {
          const sql = yield* SqlClient.SqlClient
          yield* sql`SELECT 1`
          const error = yield* Effect.flip(on(connection(name), Backups.restore(lines)))
          assert.include(String(error.message), "stop every instance first")
        })
      )
    }).pipe(Effect.scoped)
  )

  const replaceLine = (lines: ReadonlyArray<string>, index: number, change: (line: string) => string) =>
    lines.map((line, at) => (at === index ? change(line) : line))

  it.effect("are refused if the file is damaged, and then change nothing", () =>
    Effect.gen(function* () {
      const { lines } = yield* backedUp
      const damaged: Record<string, ReadonlyArray<string>> = {
        "is empty": [],
        "no backup of effect-relayer": ['{"format":"something else"}'],
        incomplete: lines.slice(0, -1),
        "lines after its end": [...lines, lines[1] ?? ""],
        "checksum does not match": replaceLine(lines, 2, (line) => line.replace('"1"', '"9"')),
        "a line is damaged": replaceLine(lines, 2, (line) => line.slice(0, -5)),
        "use a newer version": replaceLine(lines, 0, (line) =>
          line.replace(/"schema":\d+/, `"schema":${latestMigration + 1}`)
        ),
        [`has schema 72, and this version reads none before 73: commit ${lastReader} of`]: replaceLine(
          lines,
          0,
          (line) => line.replace(/"schema":\d+/, '"schema":72')
        ),
        "unknown table other": replaceLine(lines, 0, (line) => line.replace('"name":"signers"', '"name":"other"'))
      }
      yield* on(
        TestDatabase.layerNamed("backup-test"),
        Effect.gen(function* () {
          const before = yield* content
          for (const [message, file] of Object.entries(damaged)) {
            const error = yield* Effect.flip(Backups.restore(file))
            assert.include(String(error.message), message)
          }
          assert.deepStrictEqual(yield* content, before)
        })
      )
    })
  )
})
