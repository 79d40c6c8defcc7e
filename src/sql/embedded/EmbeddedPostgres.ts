// A real PostgreSQL as a supervised child: one per data directory, one service per PostgreSQL.
import { PgClient } from "@effect/sql-pg"
import { Deferred, Effect, Layer, Redacted, Schedule, Schema } from "effect"
import type { Scope } from "effect"
import { SqlClient } from "effect/sql"
import { randomBytes } from "node:crypto"
import * as fs from "node:fs/promises"
import * as net from "node:net"
import * as os from "node:os"
import * as path from "node:path"
import { DatabaseError } from "../DatabaseError.ts"
import * as Binaries from "./Binaries.ts"
import * as DataDirectory from "./DataDirectory.ts"
import * as Pid from "./Pid.ts"
import * as Postmaster from "./Postmaster.ts"
import { serverUser, type SystemUser } from "./SystemUser.ts"

export interface Options {
  /** Made on first use, with everything in it. */
  readonly dataDir: string
  /** Folder of `initdb` and `postgres`; absent: the binaries of the npm package. */
  readonly bin?: string | undefined
  /** Absent: a Unix socket, except on Windows. */
  readonly transport?: "unix" | "tcp" | undefined
  /** Connections at once, of all processes together. Absent: 40, enough for one. */
  readonly maxConnections?: number | undefined
}

type Connection = Pick<PgClient.PgClientConfig, "path" | "host" | "port" | "database" | "username" | "password">

export interface Server {
  readonly connection: Connection
  /** The same, as other processes can be told. */
  readonly url: Redacted.Redacted
}

const urlOf = ({ path: socket, host, port, database, username, password }: Connection): Redacted.Redacted => {
  const url = new URL(`postgres://${username}@${host ?? "localhost"}:${port ?? 5432}/${database}`)
  if (socket !== undefined) url.searchParams.set("host", path.dirname(socket))
  if (Redacted.isRedacted(password)) url.password = Redacted.value(password)
  return Redacted.make(url.href)
}

/** `sun_path` holds 108 bytes on Linux and 104 on macOS, the last a NUL. */
const maxSocketPath = 103

const socketFile = (folder: string, port: number) => path.join(folder, `.s.PGSQL.${port}`)

const fail = (message: string) => (cause: unknown) => new DatabaseError({ message, cause })

/** The data folder itself, which only the server's user can enter, unless its path is too long for a socket. */
const socketFolder = (folder: string, user: SystemUser | undefined) =>
  Buffer.byteLength(socketFile(folder, 5432)) <= maxSocketPath
    ? Effect.succeed(folder)
    : Effect.acquireRelease(
        Effect.tryPromise(async () => {
          const root = Buffer.byteLength(os.tmpdir()) > 60 ? "/tmp" : os.tmpdir()
          const made = await fs.mkdtemp(path.join(root, "effect-relayer-"))
          if (user !== undefined) await fs.chown(made, user.uid, user.gid)
          return made
        }).pipe(Effect.mapError(fail("cannot make a folder for PostgreSQL's socket"))),
        (made) => Effect.promise(() => fs.rm(made, { recursive: true, force: true }))
      )

const freePort = Effect.callback<number, DatabaseError>((resume) => {
  const server = net.createServer()
  server.once("error", (cause) => resume(Effect.fail(fail("no free port for PostgreSQL")(cause))))
  server.listen(0, "127.0.0.1", () => {
    const { port } = server.address() as net.AddressInfo
    server.close(() => resume(Effect.succeed(port)))
  })
})

/** The password of the TCP transport, made once and kept beside the data. */
const password = (dataDir: string, user: SystemUser | undefined) =>
  Effect.tryPromise(async () => {
    const file = path.join(dataDir, "postgres.password")
    await fs.writeFile(file, randomBytes(32).toString("base64url"), { mode: 0o600, flag: "wx" }).catch(() => undefined)
    if (user !== undefined) await fs.chown(file, user.uid, user.gid)
    return { file, value: Redacted.make(await fs.readFile(file, "utf8")) }
  }).pipe(Effect.mapError(fail(`cannot keep a database password in ${dataDir}`)))

/** Another service holds the directory: nothing that waiting would mend. */
class DirectoryInUse extends Schema.TaggedError<DirectoryInUse>()("DirectoryInUse", { message: Schema.String }) {}

/** Distinguishes our session lock from others in the same database. */
const lockKey = 7_303_014

/**
 * Takes the directory for this process: a session-level advisory lock on a connection of its own, which the server gives
 * back the moment this process dies.
 */
const lock = (
  dataDir: string,
  connection: Connection
): Effect.Effect<void, DatabaseError | DirectoryInUse, Scope.Scope> =>
  Effect.gen(function* () {
    const context = yield* Layer.build(
      PgClient.layerFrom(
        PgClient.makeClient({ ...connection, applicationName: `effect-relayer process ${process.pid}` })
      )
    )
    const sql = yield* Effect.provideContext(SqlClient.SqlClient, context)
    const [taken] = yield* sql<{ locked: boolean }>`SELECT pg_try_advisory_lock(${lockKey}) AS locked`
    if (taken?.locked === true) return
    const [holder] = yield* sql<{ application_name: string }>`
      SELECT a.application_name FROM pg_locks l JOIN pg_stat_activity a USING (pid)
      WHERE l.locktype = 'advisory' AND l.objid = ${lockKey} AND l.granted`
    return yield* new DirectoryInUse({
      message: `${dataDir} is in use by ${holder?.application_name ?? "another effect-relayer"}: stop it first, or choose another DATA_DIR`
    })
  }).pipe(Effect.catchTag("SqlError", (cause) => Effect.fail(fail("cannot connect to the embedded PostgreSQL")(cause))))

/** A server that survived its service, or one whose service lives: the lock tells which. */
const stopOrphan = (dataDir: string, folder: string, connect: (server: Pid.Running) => Connection) =>
  Effect.gen(function* () {
    const orphan = Pid.running(folder)
    if (orphan === undefined) return yield* Effect.sync(() => Pid.removeStale(folder))
    yield* lock(dataDir, connect(orphan)).pipe(
      Effect.retry({
        while: (error) => error._tag !== "DirectoryInUse",
        schedule: Schedule.spaced("200 millis"),
        times: 50
      })
    )
    // With the lock in hand, so that nobody who is just starting takes it for a server to work with.
    yield* Effect.logInfo("stopping the PostgreSQL that an earlier service left behind", { pid: orphan.pid })
    yield* Postmaster.stop(orphan.pid)
  }).pipe(Effect.scoped)

const backOff = Schedule.min([Schedule.exponential("100 millis"), Schedule.spaced("5 seconds")])

/** Runs `once`, which ends when the server does, again and again; returns when it has started for the first time. */
const supervise = (once: (started: Effect.Effect<void>) => Effect.Effect<string, DatabaseError, Scope.Scope>) =>
  Effect.gen(function* () {
    const first = yield* Deferred.make<void, DatabaseError>()
    const attempt = Effect.scoped(once(Effect.asVoid(Deferred.succeed(first, undefined)))).pipe(
      Effect.tapError((error) =>
        Effect.flatMap(Deferred.fail(first, error), (isFirst) =>
          isFirst ? Effect.void : Effect.logError(error.message)
        )
      )
    )
    yield* attempt.pipe(
      Effect.retry(backOff),
      Effect.flatMap((how) => Effect.logError("the embedded PostgreSQL ended, starting it again", { how })),
      Effect.andThen(Effect.sleep("50 millis")),
      Effect.forever,
      Effect.forkScoped
    )
    yield* Deferred.await(first)
  })

/**
 * Starts the server of `dataDir` and keeps it running until the scope closes.
 * Fails where another service holds the directory.
 */
export const start = Effect.fn("EmbeddedPostgres.start")(function* (
  options: Options
): Effect.fn.Return<Server, DatabaseError, Scope.Scope> {
  const user = serverUser()
  const dataDir = path.resolve(options.dataDir)
  const overTcp = (options.transport ?? (process.platform === "win32" ? "tcp" : "unix")) === "tcp"

  yield* Effect.tryPromise(() => fs.mkdir(dataDir, { recursive: true, mode: user === undefined ? 0o700 : 0o711 })).pipe(
    Effect.mapError(fail(`cannot make the data directory ${dataDir}`))
  )
  const secret = overTcp ? yield* password(dataDir, user) : undefined
  const binaries = yield* Binaries.locate(options.bin, user)
  const folder = yield* DataDirectory.prepare(binaries, dataDir, user, { passwordFile: secret?.file })

  const listen: Postmaster.Listen = overTcp
    ? { socketFolder: undefined, port: yield* freePort }
    : { socketFolder: yield* socketFolder(folder, user), port: 5432 }
  const connect = (server: { readonly socketFolder: string | undefined; readonly port: number }): Connection => ({
    database: "postgres",
    username: DataDirectory.superuser,
    ...(overTcp || server.socketFolder === undefined
      ? { host: "127.0.0.1", port: server.port }
      : { path: socketFile(server.socketFolder, server.port) }),
    ...(secret === undefined ? {} : { password: secret.value })
  })

  yield* supervise((started) =>
    Effect.gen(function* () {
      yield* stopOrphan(dataDir, folder, connect)
      const server = yield* Postmaster.start(binaries, folder, user, {
        ...listen,
        maxConnections: options.maxConnections
      })
      yield* lock(dataDir, connect(listen))
      yield* started
      return yield* server.ended
    }).pipe(Effect.catchTag("DirectoryInUse", ({ message }) => Effect.fail(new DatabaseError({ message }))))
  )
  const connection = connect(listen)
  return { connection, url: urlOf(connection) }
})
