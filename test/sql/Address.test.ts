// The address in the URL of a database, as the service, the driver and libpq read it.
// PostgreSQL is a process, which runs by the clock of the machine.
import { assert, describe, it } from "@effect/vitest"
import { Effect, Redacted } from "effect"
import { SqlClient } from "effect/sql"
import * as path from "node:path"
import { addressOf } from "../../src/sql/Connection.ts"
import * as EmbeddedPostgres from "../../src/sql/embedded/EmbeddedPostgres.ts"
import { folder } from "../../testkit/process/Folder.ts"
import { use } from "./Embedded.ts"

const of = (url: string) => addressOf({ url: Redacted.make(url) })

describe("the address of a database URL", () => {
  it("is its host and port, or the defaults of PostgreSQL", () => {
    assert.deepStrictEqual(of("postgres://u:p@db.example:6543/d"), { host: "db.example", port: 6543 })
    assert.deepStrictEqual(of("postgres://db.example/d"), { host: "db.example", port: 5432 })
    assert.deepStrictEqual(of("postgres://u@[::1]:6543/d"), { host: "::1", port: 6543 })
    assert.deepStrictEqual(of("postgres:///d"), { host: "localhost", port: 5432 })
  })

  it("is a socket if the host is a folder, in the query or in the authority", () => {
    assert.deepStrictEqual(of("postgres://u@localhost/d?host=/run/pg"), { path: "/run/pg/.s.PGSQL.5432" })
    assert.deepStrictEqual(of("postgres:///d?host=%2Frun%2Fpg&port=6543"), { path: "/run/pg/.s.PGSQL.6543" })
    assert.deepStrictEqual(of("postgres://u@%2Frun%2Fpg:6543/d"), { path: "/run/pg/.s.PGSQL.6543" })
  })
})

describe("the URL of the embedded server's socket", () => {
  it.live("reaches the server through the driver and through libpq, even if the path has special characters", () =>
    Effect.gen(function* () {
      const dataDir = path.join(yield* folder, "a b+c%d&e'f=ü")
      const { socketUrl = "" } = yield* EmbeddedPostgres.start({ dataDir, transport: "unix" })
      const socket = path.join(dataDir, "postgres", ".s.PGSQL.5432")
      assert.deepStrictEqual(of(socketUrl), { path: socket })

      const rows = yield* use(
        { url: Redacted.make(socketUrl) },
        Effect.gen(function* () {
          const sql = yield* SqlClient.SqlClient
          yield* sql`CREATE EXTENSION dblink`
          // The extension dblink connects with libpq.
          return yield* sql`
            SELECT * FROM dblink(${socketUrl}, 'SELECT current_user::text, current_database()::text, inet_server_addr() IS NULL')
              AS remote (username text, database text, "isSocket" boolean)`
        })
      )
      assert.deepStrictEqual(rows, [{ username: "relayer", database: "postgres", isSocket: true }])
    }).pipe(Effect.scoped)
  )
})
