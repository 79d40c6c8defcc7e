// Runs a real PostgreSQL as a supervised child process, reached by a socket or by TCP: one per data directory, for one service.
import { Cause, Deferred, Effect, Redacted, Schedule } from "effect"
import type { Scope } from "effect"
import type { PgClient } from "@effect/sql-pg"
import { randomBytes, randomInt } from "node:crypto"
import { existsSync } from "node:fs"
import * as fs from "node:fs/promises"
import * as net from "node:net"
import * as os from "node:os"
import * as path from "node:path"
import { DatabaseError, socketFile, urlOfSocket } from "../Connection.ts"
import * as Binaries from "./Binaries.ts"
import { serverUser } from "./Binaries.ts"
import type { SystemUser } from "./Binaries.ts"
import * as DataDirectory from "./DataDirectory.ts"
import { claimFolder, clearClaim, refuseUnseenServer } from "./DataFiles.ts"
import * as Durable from "./Durable.ts"
import { makeFolder } from "./Durable.ts"
import * as Postmaster from "./Postmaster.ts"
import { isFolderClaimed, runningServer } from "./Postmaster.ts"
import type { Listen } from "./Postmaster.ts"

// How clients reach the embedded server: a Unix socket in the data folder, or TCP on loopback with a password.

type Connection = Pick<PgClient.PgClientConfig, "path" | "host" | "port" | "database" | "username" | "password">

export interface ServerConnections {
  readonly connection: Connection
  /** The same connection as a URL. */
  readonly url: Redacted.Redacted
  /** The URL if the server is on a Unix socket: it contains no password. */
  readonly socketUrl: string | undefined
}

export interface Transport {
  readonly listen: Listen
  readonly server: ServerConnections
}

const databaseName = "postgres"
const username = DataDirectory.superuser
const loopback = "127.0.0.1"

/** The number in the name of the socket. Nothing listens on TCP there. */
const socketPort = 5432

/** Bytes. `sun_path` holds 108 on Linux and 104 on macOS, of which the last is a NUL. */
const maxSocketPath = 103

/** Bytes. A longer temporary folder leaves no room for the name of the socket. */
const maxTemporaryPath = 60

const serverAtSocket = (socketFolder: string, port: number): ServerConnections => {
  const socketUrl = urlOfSocket(username, databaseName, socketFolder, port)
  const connection = { database: databaseName, username, path: socketFile(socketFolder, port) }
  return { connection, url: Redacted.make(socketUrl), socketUrl }
}

const serverAtPort = (port: number, password: Redacted.Redacted): ServerConnections => {
  const url = `postgres://${username}:${encodeURIComponent(Redacted.value(password))}@${loopback}:${port}/${databaseName}`
  const connection = { database: databaseName, username, host: loopback, port, password }
  return { connection, url: Redacted.make(url), socketUrl: undefined }
}

/** A link to the data folder in a temporary folder that only `user` can enter. */
const shortLink = (folder: string, user: SystemUser | undefined) =>
  Effect.acquireRelease(
    Effect.tryPromise(async () => {
      const root = Buffer.byteLength(os.tmpdir()) > maxTemporaryPath ? "/tmp" : os.tmpdir()
      const made = await fs.mkdtemp(path.join(root, "effect-relayer-"))
      await fs.symlink(folder, path.join(made, "data"))
      if (user !== undefined) await fs.chown(made, user.uid, user.gid)
      return path.join(made, "data")
    }).pipe(Effect.mapError(DatabaseError.system("cannot make a short path for the socket of PostgreSQL"))),
    (link) => Effect.promise(() => fs.rm(path.dirname(link), { recursive: true, force: true }))
  )

/** The socket is in the data folder, which only the server's user can enter, or behind a link if its path is too long. */
const unixTransport = Effect.fnUntraced(function* (
  folder: string,
  user: SystemUser | undefined
): Effect.fn.Return<Transport, DatabaseError, Scope.Scope> {
  const fits = Buffer.byteLength(socketFile(folder, socketPort)) <= maxSocketPath
  const socketFolder = fits ? folder : yield* shortLink(folder, user)
  return { listen: { socketFolder, port: socketPort }, server: serverAtSocket(socketFolder, socketPort) }
})

const passwordFile = (dataDir: string) => path.join(dataDir, "postgres.password")

const readPassword = async (dataDir: string): Promise<Redacted.Redacted> =>
  Redacted.make((await fs.readFile(passwordFile(dataDir), "utf8")).trim())

/** The password of the server on TCP, made on the first start and kept in the data directory. */
const keptPassword = (dataDir: string, user: SystemUser | undefined) =>
  Effect.tryPromise(async () => {
    const file = passwordFile(dataDir)
    if (!existsSync(file)) await Durable.add(file, randomBytes(32).toString("base64url"))
    if (user !== undefined) await fs.chown(file, user.uid, user.gid)
    return { file, value: await readPassword(dataDir) }
  }).pipe(Effect.mapError(DatabaseError.system(`cannot keep a database password in ${dataDir}`)))

/**
 * By default, systems give none of these ports to a server that listens on port 0, or to an outgoing connection: Linux takes those from 32,768
 * (`ip_local_port_range`), macOS and Windows those from 49,152. So nobody gets the port before the server listens, or while it is restarted.
 */
const [firstPort, endPort] = [20_000, 32_768]

/** A port of loopback on which nothing listens. */
export const freePort = Effect.callback<number, DatabaseError>((resume) => {
  const port = randomInt(firstPort, endPort)
  const server = net.createServer()
  const fail = DatabaseError.system("there is no free port for PostgreSQL")
  server.once("error", (cause) => resume(Effect.fail(fail(cause))))
  server.listen(port, loopback, () => server.close(() => resume(Effect.succeed(port))))
}).pipe(Effect.retry({ times: 100 }))

/** A free port of loopback. */
const tcpTransport = (password: Redacted.Redacted): Effect.Effect<Transport, DatabaseError> =>
  Effect.map(freePort, (port) => ({
    listen: { socketFolder: undefined, port },
    server: serverAtPort(port, password)
  }))

export interface Options {
  /** Created on the first start. */
  readonly dataDir: string
  /** The folder with `initdb` and `postgres`. Absent: the binaries of the npm package. */
  readonly bin?: string | undefined
  /** Absent: a Unix socket, on Windows TCP. */
  readonly transport?: "unix" | "tcp" | undefined
  /** Connections at the same time. Absent: room for seven instances. */
  readonly maxConnections?: number
}

const backOff = Schedule.min([Schedule.exponential("100 millis"), Schedule.spaced("5 seconds")])

/** Restarts the server whenever it ends. Returns when the server has started for the first time. */
const supervise = (start: Effect.Effect<Postmaster.Run, DatabaseError, Scope.Scope>) =>
  Effect.gen(function* () {
    const first = yield* Deferred.make<void, DatabaseError>()
    const run = Effect.scoped(
      Effect.flatMap(start, ({ ended }) => Effect.andThen(Deferred.succeed(first, undefined), ended))
    ).pipe(
      Effect.tapError((error) =>
        Effect.flatMap(Deferred.fail(first, error), (isFirst) =>
          isFirst ? Effect.void : Effect.logError("cannot restart the embedded PostgreSQL", Cause.fail(error))
        )
      )
    )
    yield* run.pipe(
      Effect.retry(backOff),
      Effect.flatMap((how) =>
        Effect.annotateLogs(Effect.logError("the embedded PostgreSQL ended and is restarted"), { how })
      ),
      Effect.andThen(Effect.sleep("50 millis")),
      Effect.forever,
      Effect.forkScoped
    )
    yield* Deferred.await(first)
  })

/**
 * Starts the server of `dataDir` and keeps it running until the scope closes. Fails if another service holds the files, which
 * may be those of another data directory that links to them.
 */
export const start = Effect.fn("EmbeddedPostgres.start")(function* (
  options: Options
): Effect.fn.Return<ServerConnections & { readonly files: string }, DatabaseError, Scope.Scope> {
  const user = serverUser()
  const dataDir = path.resolve(options.dataDir)
  const overTcp = (options.transport ?? (process.platform === "win32" ? "tcp" : "unix")) === "tcp"

  yield* Effect.tryPromise(() => makeFolder(dataDir, user === undefined ? 0o700 : 0o711)).pipe(
    Effect.mapError(DatabaseError.system(`cannot create the data directory ${dataDir}`))
  )
  const secret = overTcp ? yield* keptPassword(dataDir, user) : undefined
  const binaries = yield* Binaries.locate(options.bin, user)
  const folder = yield* DataDirectory.place(dataDir, user)
  yield* claimFolder(folder)
  yield* DataDirectory.prepare(binaries, folder, user, { passwordFile: secret?.file })

  const { listen, server } =
    secret === undefined ? yield* unixTransport(folder, user) : yield* tcpTransport(secret.value)
  if (server.connection.path !== undefined) yield* refuseUnseenServer(folder, server.connection.path)

  const run = clearClaim(folder).pipe(
    Effect.andThen(
      Postmaster.start(
        binaries,
        folder,
        user,
        options.maxConnections === undefined ? listen : { ...listen, maxConnections: options.maxConnections }
      )
    ),
    // A service that was killed may have started a server that claims the files first. A failed start leaves no lock file. The
    // sessions of a server that was killed end a moment after it.
    Effect.retry({
      while: (error) => isFolderClaimed(folder) || Postmaster.isBeforeSessionsEnded(error),
      schedule: Schedule.spaced("200 millis"),
      times: 50
    })
  )
  yield* supervise(run)
  return { ...server, files: folder }
})

/** The server that another process keeps running on `dataDir` at this moment. It ends with that process. */
export const find = Effect.fn("EmbeddedPostgres.find")(function* (dataDir: string) {
  const folder = path.join(path.resolve(dataDir), "postgres")
  return yield* Effect.tryPromise(async (): Promise<ServerConnections | undefined> => {
    const target = await fs.realpath(folder).catch(() => undefined)
    if (target === undefined || runningServer(target) === undefined) return undefined
    // Lines of `postmaster.pid`: process id, data folder, start time, port, socket folder, first address.
    const lines = (await fs.readFile(path.join(target, "postmaster.pid"), "utf8")).split("\n")
    const [, , , port = "", socketFolder = ""] = lines.map((line) => line.trim())
    return socketFolder === ""
      ? serverAtPort(Number(port), await readPassword(path.resolve(dataDir)))
      : serverAtSocket(socketFolder, Number(port))
  }).pipe(Effect.mapError(DatabaseError.system(`cannot find the PostgreSQL of ${dataDir}`)))
})
