// The embedded server alone: its starts, its recovery, and its refusals. PostgreSQL is a process, which runs by the clock of the machine.
import type { PgClient } from "@effect/sql-pg"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Redacted } from "effect"
import { SqlClient } from "effect/sql"
import { spawn, type ChildProcess } from "node:child_process"
import * as fs from "node:fs/promises"
import * as path from "node:path"
import { serverUser } from "../../src/sql/embedded/Binaries.ts"
import * as EmbeddedPostgres from "../../src/sql/embedded/EmbeddedPostgres.ts"
import { postgresPid, until } from "../../testkit/process/Folder.ts"
import { dataDirectory, kept, lockText, refusal, serves, use, value } from "./Embedded.ts"

/** Recreates removed files and folders, 2,000 times or until their parent folder is gone. */
const writes = "echo begun; n=0; while [ $n -lt 2000 ]; do n=$((n+1)); mkdir -p base/4; : >base/4/$n; done"

/** A process of the server's user, which has the process id of a killed server. */
const namesake = Effect.map(
  Effect.acquireRelease(
    Effect.sync(() => spawn("sleep", ["60"], { ...serverUser(), stdio: "ignore" })),
    (child) => Effect.sync(() => child.kill("SIGKILL"))
  ),
  ({ pid }) => pid ?? assert.fail("no process")
)

const setting = (connection: PgClient.PgClientConfig, name: string) =>
  use(
    connection,
    Effect.flatMap(
      SqlClient.SqlClient,
      (sql) => sql<{ readonly value: string }>`SELECT current_setting(${name}) AS value`
    )
  ).pipe(Effect.map(([row]) => row?.value))

describe.concurrent("the embedded PostgreSQL", () => {
  it.live("is durable, listens on no network, restarts after a kill, and serves one owner", () =>
    Effect.gen(function* () {
      const dataDir = yield* dataDirectory
      const { connection } = yield* EmbeddedPostgres.start({ dataDir, transport: "unix" })
      assert.deepStrictEqual(yield* value(connection), kept)
      for (const [name, wanted] of Object.entries({ fsync: "on", synchronous_commit: "on", listen_addresses: "" })) {
        assert.strictEqual(yield* setting(connection, name), wanted, name)
      }

      const message = yield* refusal({ dataDir })
      assert.include(message, `${dataDir}/postgres is in use by effect-relayer process ${process.pid}`)
      assert.deepStrictEqual(yield* value(connection), kept)

      const first = (yield* postgresPid(dataDir)) ?? assert.fail("no server")
      process.kill(first, "SIGKILL")
      const second = yield* until(
        "another server",
        Effect.map(postgresPid(dataDir), (pid) => (pid === first ? undefined : pid))
      )
      assert.notStrictEqual(second, first)
      const served = Effect.orElseSucceed(value(connection), () => undefined)
      assert.deepStrictEqual(yield* until("its answer", served), kept)
      assert.include(yield* refusal({ dataDir }), "is in use by")
      assert.strictEqual(yield* postgresPid(dataDir), second)
    }).pipe(Effect.scoped)
  )

  it.live("recovers when the kill of one session ends all sessions", () =>
    Effect.gen(function* () {
      const dataDir = yield* dataDirectory
      const { connection } = yield* EmbeddedPostgres.start({ dataDir })
      const server = yield* postgresPid(dataDir)
      const killed = yield* use(
        connection,
        Effect.gen(function* () {
          const sql = yield* SqlClient.SqlClient
          const [session] = yield* sql<{ readonly pid: number }>`SELECT pg_backend_pid() AS pid`
          process.kill(session?.pid ?? assert.fail("no session"), "SIGKILL")
          return yield* Effect.flip(sql`SELECT 1`)
        })
      )
      assert.strictEqual(killed._tag, "SqlError")
      const served = Effect.orElseSucceed(value(connection), () => undefined)
      assert.deepStrictEqual(yield* until("its answer", served), kept)
      assert.strictEqual(yield* postgresPid(dataDir), server)
      assert.include(yield* refusal({ dataDir }), "is in use by")
    }).pipe(Effect.scoped)
  )

  it.live("removes the files of a killed initdb, stops with its scope, and leaves its files for the next start", () =>
    Effect.gen(function* () {
      const dataDir = yield* dataDirectory
      const unfinished = path.join(dataDir, "postgres.init-killed")
      yield* Effect.promise(() => fs.mkdir(path.join(unfinished, "base"), { recursive: true }))
      assert.deepStrictEqual(yield* serves(dataDir), kept)
      assert.deepStrictEqual(yield* Effect.promise(() => fs.readdir(dataDir)), ["postgres", "postgres.lock"])
      assert.isUndefined(yield* postgresPid(dataDir))
      const files = yield* Effect.promise(() => fs.readdir(path.join(dataDir, "postgres")))
      assert.isEmpty(files.filter((name) => name === "postmaster.pid" || name.startsWith(".s.PGSQL")))
      assert.deepStrictEqual(yield* serves(dataDir), kept)
    })
  )

  it.live("removes the files of an initdb that still writes after its service was killed", () =>
    Effect.gen(function* () {
      const dataDir = yield* dataDirectory
      const unfinished = path.join(dataDir, "postgres.init-killed")
      yield* Effect.promise(() => fs.mkdir(unfinished, { recursive: true }))
      yield* Effect.acquireRelease(
        Effect.callback<ChildProcess>((resume) => {
          const child = spawn("sh", ["-c", writes], { cwd: unfinished, stdio: ["ignore", "pipe", "ignore"] })
          child.stdout.once("data", () => resume(Effect.succeed(child)))
        }),
        (child) => Effect.sync(() => child.kill("SIGKILL"))
      )
      assert.deepStrictEqual(yield* serves(dataDir), kept)
      assert.deepStrictEqual(yield* Effect.promise(() => fs.readdir(dataDir)), ["postgres", "postgres.lock"])
    })
  )

  it.live("starts in a DATA_DIR that is too long for the path of a socket", () =>
    Effect.gen(function* () {
      const dataDir = path.join(yield* dataDirectory, "long-".repeat(40))
      assert.isAbove(dataDir.length, 200)
      const socket = yield* Effect.gen(function* () {
        const { connection } = yield* EmbeddedPostgres.start({ dataDir, transport: "unix" })
        assert.deepStrictEqual(yield* value(connection), kept)
        // The place where another container finds it.
        assert.include(yield* Effect.promise(() => fs.readdir(path.join(dataDir, "postgres"))), ".s.PGSQL.5432")
        return connection.path ?? ""
      }).pipe(Effect.scoped)
      assert.isAtMost(socket.length, 103)
      const left = yield* Effect.promise(() => fs.stat(path.dirname(path.dirname(socket))).catch(() => undefined))
      assert.isUndefined(left)
    })
  )

  it.live("requires its password over TCP, and only the owner can read the password", () =>
    Effect.gen(function* () {
      const dataDir = yield* dataDirectory
      const { connection } = yield* EmbeddedPostgres.start({ dataDir, transport: "tcp" })
      assert.strictEqual(connection.host, "127.0.0.1")
      assert.deepStrictEqual(yield* value(connection), kept)
      assert.strictEqual(yield* setting(connection, "listen_addresses"), "127.0.0.1")
      for (const password of [Redacted.make("wrong"), Redacted.make(""), undefined]) {
        const refused = yield* Effect.flip(value({ ...connection, password }))
        assert.strictEqual(refused._tag === "SqlError" ? refused.reason._tag : refused, "AuthenticationError")
      }
      const { mode } = yield* Effect.promise(() => fs.stat(path.join(dataDir, "postgres.password")))
      assert.strictEqual(mode & 0o777, 0o600)
    }).pipe(Effect.scoped)
  )

  it.live("ignores the files of a killed server, even if another process has its process id now", () =>
    Effect.gen(function* () {
      const dataDir = yield* dataDirectory
      assert.deepStrictEqual(yield* serves(dataDir), kept)
      const files = path.join(dataDir, "postgres")
      const other = yield* dataDirectory
      yield* EmbeddedPostgres.start({ dataDir: other })
      for (const pid of [yield* namesake, yield* until("another server", postgresPid(other))]) {
        const stale = lockText(pid, files)
        yield* Effect.promise(() => fs.writeFile(path.join(files, "postmaster.pid"), stale))
        yield* Effect.promise(() => fs.writeFile(path.join(files, ".s.PGSQL.5432.lock"), stale))
        assert.deepStrictEqual(yield* serves(dataDir), kept)
        assert.strictEqual(yield* postgresPid(dataDir), undefined)
      }
      assert.isDefined(yield* postgresPid(other))
    })
  )

  it.live("reports data of another major version and missing binaries with the next step", () =>
    Effect.gen(function* () {
      const dataDir = yield* dataDirectory
      const files = path.join(dataDir, "postgres")
      yield* Effect.promise(() => fs.mkdir(files, { recursive: true }))
      yield* Effect.promise(() => fs.writeFile(path.join(files, "PG_VERSION"), "9\n"))
      const other = yield* refusal({ dataDir })
      assert.include(other, `the data in ${files} were created by PostgreSQL 9, and the binaries are PostgreSQL `)

      const bin = path.join(dataDir, "nowhere")
      const missing = yield* refusal({ dataDir, bin })
      assert.include(missing, `the PostgreSQL binaries in ${bin} cannot be executed`)
    })
  )
})
