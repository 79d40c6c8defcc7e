// The database of a URL that leads to a pooler. PostgreSQL is a process, which runs by the clock of the machine.
import { PgClient } from "@effect/sql-pg"
import { assert, layer } from "@effect/vitest"
import { Context, Effect, Layer, Redacted } from "effect"
import { SqlClient } from "effect/sql"
import { randomUUID } from "node:crypto"
import * as path from "node:path"
import { fromDatabase } from "../../src/process/StartFailed.ts"
import { urlOfSocket } from "../../src/sql/Connection.ts"
import { canListen, notify } from "../../src/sql/Session.ts"
import * as EmbeddedPostgres from "../../src/sql/embedded/EmbeddedPostgres.ts"
import { migrationsTable } from "../../src/sql/migrations/index.ts"
import * as Sql from "../../src/sql/Sql.ts"
import * as Pooler from "../../testkit/Pooler.ts"
import { dataDirectory, use } from "./Embedded.ts"

/** One server for all tests, each with a database of its own. */
class Server extends Context.Service<Server, PgClient.PgClientConfig>()("effect-relayer/test/sql/Pooler.test/Server") {
  static readonly layer = Layer.effect(
    Server,
    Effect.gen(function* () {
      return (yield* EmbeddedPostgres.start({ dataDir: yield* dataDirectory })).connection
    })
  )
}

/** A new database, its URL, and URLs of poolers in front of it. */
const database = Effect.gen(function* () {
  const server = yield* Server
  const { path: socket = "", username = "" } = server
  const name = `test_${randomUUID().replaceAll("-", "")}`
  yield* use(
    server,
    Effect.flatMap(SqlClient.SqlClient, (sql) => sql`CREATE DATABASE ${sql(name)}`)
  )
  const options = (url: string) => ({ _tag: "Url" as const, url: Redacted.make(url) })
  const behind = (pooler: Omit<Pooler.Options, "server">) =>
    Effect.map(Pooler.make({ server: socket, ...pooler }, name, username), options)
  const connection = { ...server, database: name }
  const tables = use(
    connection,
    Effect.flatMap(SqlClient.SqlClient, (sql) => sql`SELECT to_regclass(${migrationsTable})::text AS found`)
  )
  return { connection, behind, tables, direct: options(urlOfSocket(username, name, path.dirname(socket), 5432)) }
})

const none = [{ found: null }]

const settings = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  return yield* sql`
    SELECT current_setting('statement_timeout') AS statement, current_setting('TimeZone') AS zone,
      current_setting('idle_in_transaction_session_timeout') AS idle`
})

const expected = [{ statement: "10s", zone: "UTC", idle: "1min" }]

const ignored = ["statement_timeout", "idle_in_transaction_session_timeout"]

layer(Server.layer, { excludeTestServices: true })("a start behind a pooler", (it) => {
  for (const [name, options] of [
    ["as it is installed", {}],
    ["that ignores settings", { ignored }],
    ["that delivers notifications", { ignored, delivers: true }],
    ["of two processes", { ignored, processes: 2 }],
    ["of eight processes", { ignored, processes: 8 }],
    ["of four processes, with late notifications", { ignored, processes: 4, late: true }]
  ] as const) {
    it.effect(`is refused before anything is written: in transaction mode, a pooler ${name}`, () =>
      Effect.gen(function* () {
        const { behind, tables } = yield* database
        const error = yield* Effect.flip(Effect.scoped(Sql.open(yield* behind({ mode: "transaction", ...options }))))
        assert.strictEqual(error.reason, "SessionsShared")
        assert.match(
          fromDatabase(error).message,
          /^the database at 127\.0\.0\.1:\d+\/test_\w+ is behind a pooler in transaction mode, which loses locks and notifications: DATABASE_URL has to lead to a pooler in session mode, or to the server itself$/u
        )
        assert.deepStrictEqual(yield* tables, none)
      })
    )
  }

  it.effect("is refused while other clients use the sessions, and so are commands and host programs", () =>
    Effect.gen(function* () {
      const { behind, tables } = yield* database
      const options = yield* behind({ mode: "transaction", ignored })
      const client = PgClient.layer({ url: options.url, maxConnections: 1, prepare: false })
      const busy = Effect.flatMap(SqlClient.SqlClient, (sql) => Effect.forever(sql`SELECT 1`))
      yield* Effect.forkScoped(
        Effect.forEach([1, 2, 3], () => Effect.provide(busy, Layer.fresh(client)), { concurrency: "unbounded" })
      )
      const refusals = [
        yield* Effect.flip(Effect.scoped(Sql.open(options))),
        yield* Effect.flip(Effect.scoped(Layer.build(Sql.maintenance(options)))),
        yield* Effect.flip(Effect.scoped(Effect.provide(Sql.migrate, client)))
      ]
      assert.deepStrictEqual(
        refusals.map((error) => (error._tag === "DatabaseError" ? error.reason : error._tag)),
        ["SessionsShared", "SessionsShared", "SessionsShared"]
      )
      assert.deepStrictEqual(yield* tables, none)
    })
  )

  for (const [name, settingsThere] of [
    ["refuses", { ignored: [] }],
    ["ignores", { ignored }]
  ] as const) {
    it.effect(`works in session mode, with settings that the pooler ${name} when a session starts`, () =>
      Effect.gen(function* () {
        const { behind, connection } = yield* database
        const options = yield* behind({ mode: "session", ...settingsThere })
        const opened = yield* Effect.scoped(Sql.open(options))
        assert.strictEqual(opened.settingsBy, "statements")
        yield* Effect.gen(function* () {
          const sql = yield* SqlClient.SqlClient
          assert.deepStrictEqual(yield* settings, expected)
          const inTransaction = sql.withTransaction(
            Effect.gen(function* () {
              yield* sql`CREATE TABLE kept (value int)`
              yield* Effect.ignore(sql.withTransaction(sql`SELECT 1 / 0`))
              return yield* settings
            })
          )
          assert.deepStrictEqual(yield* inTransaction, expected)
          yield* Effect.ignore(sql.withTransaction(Effect.andThen(sql`INSERT INTO kept VALUES (1)`, Effect.fail("no"))))
          const held = sql.withTransaction(Effect.andThen(sql`SELECT pg_sleep(0.01)`, settings))
          const many = yield* Effect.all([held, held, held, held], { concurrency: "unbounded" })
          assert.deepStrictEqual(many, [expected, expected, expected, expected])
          assert.deepStrictEqual(yield* sql`SELECT value FROM kept`, [])
          assert.deepStrictEqual(yield* sql`SELECT ${"a"}::text AS given`.values, [["a"]])
          assert.isTrue(canListen(sql))
        }).pipe(Effect.provide(Sql.layerOpen(opened)), Effect.scoped)
        yield* Effect.scoped(Effect.provide(settings, Sql.maintenance(options)))
        const schema = Effect.flatMap(SqlClient.SqlClient, (sql) => sql`SELECT FROM relayers`)
        assert.deepStrictEqual(yield* use(connection, schema), [])
      })
    )
  }

  it.effect("is not refused without a pooler, while many clients notify and use the database", () =>
    Effect.gen(function* () {
      const { direct } = yield* database
      const busy = Effect.flatMap(SqlClient.SqlClient, (sql) => Effect.forever(notify(sql, "busy")))
      const client = PgClient.layer({ url: direct.url, maxConnections: 1 })
      yield* Effect.forkScoped(
        Effect.forEach([1, 2, 3, 4], () => Effect.provide(busy, Layer.fresh(client)), { concurrency: "unbounded" })
      )
      for (let n = 0; n < 5; n++) {
        const opened = yield* Effect.scoped(Sql.open(direct))
        assert.strictEqual(opened.settingsBy, "startup")
        assert.deepStrictEqual(yield* Effect.scoped(Effect.provide(settings, Sql.layerOpen(opened))), expected)
      }
    })
  )
})
