// Embedded servers for tests, and a row that identifies the files of a server.
import { PgClient } from "@effect/sql-pg"
import { assert } from "@effect/vitest"
import { Effect } from "effect"
import { SqlClient } from "effect/sql"
import { spawnSync } from "node:child_process"
import * as path from "node:path"
import { DatabaseError } from "../../src/sql/Connection.ts"
import * as EmbeddedPostgres from "../../src/sql/embedded/EmbeddedPostgres.ts"
import { folder } from "../../testkit/process/Folder.ts"

export const use = <A, E>(config: PgClient.PgClientConfig, self: Effect.Effect<A, E, SqlClient.SqlClient>) =>
  Effect.scoped(Effect.provide(self, PgClient.layer({ ...config, maxConnections: 1 })))

export const value = (config: PgClient.PgClientConfig) =>
  use(
    config,
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      yield* sql`CREATE TABLE IF NOT EXISTS kept (value int)`
      yield* sql`INSERT INTO kept SELECT 1 WHERE NOT EXISTS (SELECT FROM kept)`
      return yield* sql<{ readonly value: number }>`SELECT value FROM kept`
    })
  )

export const kept = [{ value: 1 }]

export const dataDirectory = Effect.map(folder, (home) => path.join(home, "data"))

/** Starts a server, reads the row, and stops the server. */
export const serves = (where: string | EmbeddedPostgres.Options) =>
  Effect.scoped(
    Effect.flatMap(EmbeddedPostgres.start(typeof where === "string" ? { dataDir: where } : where), ({ connection }) =>
      value(connection)
    )
  )

export const refusal = (options: EmbeddedPostgres.Options) =>
  Effect.map(Effect.flip(Effect.scoped(EmbeddedPostgres.start(options))), (error) => {
    assert.instanceOf(error, DatabaseError)
    return error.message
  })

/** The id of a process that has ended. */
export const deadPid = Effect.sync(() => spawnSync(process.execPath, ["-e", "0"]).pid)

/** Lines of the lock file of a server that was ready. */
export const lockText = (pid: number, files: string): string =>
  [pid, files, 1, 5432, files, "", "", "ready   "].join("\n")
