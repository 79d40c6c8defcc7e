// Starts that fail: one line for the operator, exit code 1, and no process left running. Processes and services run by the clock of the machine.
import { PgClient } from "@effect/sql-pg"
import { assert, describe, inject, it } from "@effect/vitest"
import { Effect } from "effect"
import { SqlClient } from "effect/sql"
import * as fs from "node:fs/promises"
import * as path from "node:path"
import { migrationsTable } from "../../src/sql/migrations/index.ts"
import * as HiddenIdentity from "../../testkit/HiddenIdentity.ts"
import { clientConfig } from "../../testkit/Postgres.ts"
import * as TestDatabase from "../../testkit/TestDatabase.ts"
import { ran, serving } from "../../testkit/process/Commands.ts"
import { freePort, takenPort } from "../../testkit/process/Ports.ts"
import { folder, postgresPid } from "../../testkit/process/Folder.ts"
import * as Service from "../../testkit/process/Service.ts"

const server = inject("postgres")

type Ended = Effect.Success<ReturnType<typeof ran>> | Effect.Success<ReturnType<typeof Service.run>>

const errorLine = ({ code, stderr, stdout }: Ended) => {
  assert.strictEqual(code, 1, stderr + stdout)
  assert.match(stderr, /^effect-relayer: [^\n]+\n$/)
  assert.notMatch(stderr + stdout, /^\s+at /m)
  assert.notInclude(stdout, "listens on")
  return stderr.trimEnd()
}

/** Starts the service in the process of the test, and returns its error line. */
const refusal = ({ env = { API_KEY: Service.apiKey }, flags = [], ...options }: Service.Options) =>
  Effect.map(
    ran({ ...options, flags: ["serve", ...flags], env: { PORT: "0", WATCH: "off", LOG_LEVEL: "none", ...env } }),
    errorLine
  )

/** Calls a service in the process of the test, which stops afterwards. */
const served = (home: string, use: (call: Service.Listening["call"]) => Effect.Effect<Service.Answer>) =>
  Effect.scoped(Effect.flatMap(serving(home, { API_KEY: Service.apiKey }), ({ call }) => use(call)))

describe.concurrent("a start is refused", () => {
  it.live("if the port is in use", () =>
    Effect.gen(function* () {
      const home = yield* folder
      const port = yield* takenPort
      const database = yield* TestDatabase.makeEmpty
      const env = { ...Service.onServer(server, database), PORT: String(port) }
      // As a process, so that a shell sees the exit code.
      const line = errorLine(yield* Service.run({ folder: home, env }))
      assert.strictEqual(line, `effect-relayer: 127.0.0.1:${port} is in use: choose another PORT`)
      assert.isEmpty(yield* Effect.promise(() => fs.readdir(home)), "nothing was created")
      const schema = Effect.flatMap(SqlClient.SqlClient, (sql) => sql`SELECT to_regclass(${migrationsTable}) AS name`)
      const config = clientConfig(server, database)
      const [migrated] = yield* schema.pipe(Effect.provide(PgClient.layer(config)), Effect.scoped)
      assert.isNull(migrated?.["name"], "nothing was migrated")
    })
  )

  it.live("if the database has no room for its sessions, with the reason", () =>
    Effect.gen(function* () {
      const database = yield* TestDatabase.make
      const hide = Effect.gen(function* () {
        yield* HiddenIdentity.create("53300")
        const sql = yield* SqlClient.SqlClient
        yield* sql`ALTER DATABASE ${sql(database)} SET search_path = ${sql.literal(HiddenIdentity.searchPath)}`
      })
      yield* hide.pipe(Effect.provide(PgClient.layer(clientConfig(server, database))), Effect.scoped)
      const line = yield* refusal({ folder: yield* folder, env: Service.onServer(server, database) })
      const reason = "the database was unavailable or too busy: too many sessions"
      assert.strictEqual(line, `effect-relayer: ${reason}: start again when it answers`)
    })
  )

  it.live("at once if the data directory cannot be created, with the reason", () =>
    Effect.gen(function* () {
      const home = yield* folder
      yield* Effect.promise(() => fs.writeFile(path.join(home, "file"), ""))
      const reasons = [
        [path.join(home, "file"), "is not a folder"],
        [path.join(home, "file", "data"), "ENOTDIR"],
        // Node's own way to create a folder with its parents does not end here.
        ["/proc/no-such-folder/data", "mkdir '/proc"]
      ] as const
      for (const [DATA_DIR, reason] of reasons) {
        const line = yield* refusal({ folder: home, env: { DATA_DIR } })
        assert.include(line, `cannot create the data directory ${DATA_DIR}, choose another DATA_DIR: `)
        assert.include(line, reason)
      }
    })
  )

  it.live("if DATABASE_URL cannot be reached, or the database does not exist", () =>
    Effect.gen(function* () {
      const home = yield* folder
      const port = yield* freePort
      const env = Service.onServer(server, "no_such_database")
      const unreachable = `postgres://relayer:url-secret@127.0.0.1:${port}/relayer`
      const away = yield* refusal({ folder: home, env: { ...env, DATABASE_URL: unreachable } })
      assert.include(away, `cannot use the database at 127.0.0.1:${port}/relayer`)
      assert.include(away, "ECONNREFUSED")
      assert.notInclude(away, "url-secret")

      assert.match(yield* refusal({ folder: home, env }), /no_such_database.*does not exist/)
    })
  )

  it.live("if HOST is no address of this machine", () =>
    Effect.gen(function* () {
      const home = yield* folder
      const line = yield* refusal({ folder: home, env: { API_KEY: Service.apiKey, HOST: "192.0.2.1" } })
      assert.strictEqual(line, "effect-relayer: 192.0.2.1 is no address of this machine: choose another HOST")
    })
  )

  it.live("if the schema is newer than the program", () =>
    Effect.gen(function* () {
      const home = yield* folder
      const database = yield* TestDatabase.make
      yield* Effect.gen(function* () {
        const sql = yield* SqlClient.SqlClient
        yield* sql`INSERT INTO ${sql(migrationsTable)} (migration_id, name) VALUES (999, 'future')`
        yield* sql`UPDATE schema_mark SET oldest = 999`
      }).pipe(Effect.provide(PgClient.layer(clientConfig(server, database))), Effect.scoped)
      const line = yield* refusal({ folder: home, env: Service.onServer(server, database) })
      assert.match(line, /has schema 999, newer than this version knows \(\d+\): start a newer version$/)
      assert.include(line, database)
    })
  )

  it.live("with a STORAGE_ENCRYPTION_KEY that did not write the data, and PostgreSQL is stopped again", () =>
    Effect.gen(function* () {
      const home = yield* folder
      const data = path.join(home, "data")
      yield* served(home, (call) => call("/api/v1/signers", { body: { id: "kept", type: "plain" } }))

      const other = Buffer.alloc(32, 8).toString("base64")
      const env = { API_KEY: Service.apiKey, STORAGE_ENCRYPTION_KEY: other }
      const line = yield* refusal({ folder: home, env })
      assert.include(line, "the database was written with another master key (key id ")
      assert.notInclude(line, other)
      assert.isUndefined(yield* postgresPid(data))

      assert.strictEqual((yield* served(home, (call) => call("/api/v1/signers/kept"))).status, 200)
    })
  )

  it.live("without the key file that an existing database needs, and no key is created in its place", () =>
    Effect.gen(function* () {
      const home = yield* folder
      const file = path.join(home, "data", "storage-encryption-key")
      yield* served(home, (call) => call("/api/v1/signers", { body: { id: "kept", type: "plain" } }))
      yield* Effect.promise(() => fs.rename(file, path.join(home, "safe")))

      const line = yield* refusal({ folder: home })
      assert.include(line, `${file} does not exist`)
      assert.match(line, /under the master key [0-9a-f]{8}: copy the file back/)
      const names = yield* Effect.promise(() => fs.readdir(path.dirname(file)))
      assert.isEmpty(names.filter((name) => name.startsWith("storage-encryption-key")))

      yield* Effect.promise(() => fs.copyFile(path.join(home, "safe"), file))
      assert.strictEqual((yield* served(home, (call) => call("/api/v1/signers/kept"))).status, 200)
    })
  )

  it.live("with a POSTGRES_BIN that does not exist", () =>
    Effect.gen(function* () {
      const home = yield* folder
      const line = yield* refusal({ folder: home, flags: ["--postgres-bin", path.join(home, "bin")] })
      assert.include(line, path.join(home, "bin"))
      assert.include(line, "set POSTGRES_BIN to the folder of initdb and postgres, or DATABASE_URL")
    })
  )

  it.live("with a DATA_DIR that is not a folder", () =>
    Effect.gen(function* () {
      const home = yield* folder
      yield* Effect.promise(() => fs.writeFile(path.join(home, "data"), ""))
      assert.include(yield* refusal({ folder: home }), path.join(home, "data"))
    })
  )

  it.live("with a key file that contains no key", () =>
    Effect.gen(function* () {
      const home = yield* folder
      const {
        API_KEY: _,
        STORAGE_ENCRYPTION_KEY: key,
        ...database
      } = Service.onServer(server, yield* TestDatabase.make)
      const data = path.join(home, "data")
      const file = path.join(data, "api-key")
      yield* Effect.promise(() => fs.mkdir(data))
      yield* Effect.promise(() => fs.writeFile(file, "\n"))
      const env = { ...database, STORAGE_ENCRYPTION_KEY: key ?? "" }
      assert.include(yield* refusal({ folder: home, env }), file)

      const encryption = path.join(data, "storage-encryption-key")
      yield* Effect.promise(() => fs.writeFile(encryption, "c2hvcnQ=\n"))
      assert.include(yield* refusal({ folder: home }), encryption)
    })
  )
})
