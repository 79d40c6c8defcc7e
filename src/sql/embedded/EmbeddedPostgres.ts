// A real PostgreSQL as a supervised child: one per data directory, one service per PostgreSQL.
import type { PgClient } from "@effect/sql-pg"
import { Deferred, Effect, Redacted, Schedule } from "effect"
import type { Scope } from "effect"
import { randomBytes } from "node:crypto"
import { existsSync } from "node:fs"
import * as fs from "node:fs/promises"
import * as net from "node:net"
import * as os from "node:os"
import * as path from "node:path"
import { DatabaseError } from "../DatabaseError.ts"
import * as Binaries from "./Binaries.ts"
import * as DataDirectory from "./DataDirectory.ts"
import * as Durable from "./Durable.ts"
import * as Owner from "./Owner.ts"
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

/** The data folder itself, which only the server's user can enter; where its path is too long for a socket, a link to it. */
const socketFolder = (folder: string, user: SystemUser | undefined) =>
  Buffer.byteLength(socketFile(folder, 5432)) <= maxSocketPath
    ? Effect.succeed(folder)
    : Effect.acquireRelease(
        Effect.tryPromise(async () => {
          const root = Buffer.byteLength(os.tmpdir()) > 60 ? "/tmp" : os.tmpdir()
          const made = await fs.mkdtemp(path.join(root, "effect-relayer-"))
          await fs.symlink(folder, path.join(made, "data"))
          if (user !== undefined) await fs.chown(made, user.uid, user.gid)
          return path.join(made, "data")
        }).pipe(Effect.mapError(fail("cannot make a short path for PostgreSQL's socket"))),
        (link) => Effect.promise(() => fs.rm(path.dirname(link), { recursive: true, force: true }))
      )

const freePort = Effect.callback<number, DatabaseError>((resume) => {
  const server = net.createServer()
  server.once("error", (cause) => resume(Effect.fail(fail("no free port for PostgreSQL")(cause))))
  server.listen(0, "127.0.0.1", () => {
    const { port } = server.address() as net.AddressInfo
    server.close(() => resume(Effect.succeed(port)))
  })
})

const passwordFile = (dataDir: string) => path.join(dataDir, "postgres.password")

const passwordOf = async (dataDir: string) => Redacted.make((await fs.readFile(passwordFile(dataDir), "utf8")).trim())

/** The password of the TCP transport, made once and kept beside the data. */
const password = (dataDir: string, user: SystemUser | undefined) =>
  Effect.tryPromise(async () => {
    const file = passwordFile(dataDir)
    if (!existsSync(file)) await Durable.add(file, randomBytes(32).toString("base64url"))
    if (user !== undefined) await fs.chown(file, user.uid, user.gid)
    return { file, value: await passwordOf(dataDir) }
  }).pipe(Effect.mapError(fail(`cannot keep a database password in ${dataDir}`)))

const backOff = Schedule.min([Schedule.exponential("100 millis"), Schedule.spaced("5 seconds")])

/** Starts the server again whenever it has ended; returns when it has started for the first time. */
const supervise = (start: Effect.Effect<Postmaster.Run, DatabaseError, Scope.Scope>) =>
  Effect.gen(function* () {
    const first = yield* Deferred.make<void, DatabaseError>()
    const run = Effect.scoped(
      Effect.flatMap(start, ({ ended }) => Effect.andThen(Deferred.succeed(first, undefined), ended))
    ).pipe(
      Effect.tapError((error) =>
        Effect.flatMap(Deferred.fail(first, error), (isFirst) =>
          isFirst ? Effect.void : Effect.logError(error.message)
        )
      )
    )
    yield* run.pipe(
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
  // Another directory may lead to it, too: a copy of one whose database files are behind a link.
  const folder = yield* DataDirectory.place(dataDir, user)
  yield* Owner.claim(folder)
  yield* DataDirectory.prepare(binaries, folder, user, { passwordFile: secret?.file })

  const listen: Postmaster.Listen = overTcp
    ? { socketFolder: undefined, port: yield* freePort }
    : { socketFolder: yield* socketFolder(folder, user), port: 5432 }
  const socket = listen.socketFolder === undefined ? undefined : socketFile(listen.socketFolder, listen.port)
  if (socket !== undefined) yield* Owner.refuseUnseen(folder, socket)

  const begin = Owner.clear(folder).pipe(
    Effect.andThen(Postmaster.start(binaries, folder, user, listen)),
    // A service that was killed has begun a server that came first. One that does not start leaves no lock file.
    Effect.retry({ while: () => Pid.isClaimed(folder), schedule: Schedule.spaced("200 millis"), times: 50 })
  )
  yield* supervise(begin)
  const connection: Connection = {
    database: "postgres",
    username: DataDirectory.superuser,
    ...(socket === undefined ? { host: "127.0.0.1", port: listen.port } : { path: socket }),
    ...(secret === undefined ? {} : { password: secret.value })
  }
  return { connection, url: urlOf(connection) }
})

/** The server that a service keeps running on `dataDir` right now. It ends with that service. */
export const find = Effect.fn("EmbeddedPostgres.find")(function* (dataDir: string) {
  const folder = path.join(path.resolve(dataDir), "postgres")
  return yield* Effect.tryPromise(async (): Promise<Server | undefined> => {
    const target = await fs.realpath(folder).catch(() => undefined)
    if (target === undefined || Pid.running(target) === undefined) return undefined
    // Lines of `postmaster.pid`: process id, data folder, start time, port, socket folder, first address.
    const lines = (await fs.readFile(path.join(target, "postmaster.pid"), "utf8")).split("\n")
    const [, , , port = "", socketFolder = ""] = lines.map((line) => line.trim())
    const user = { database: "postgres", username: DataDirectory.superuser }
    const connection: Connection =
      socketFolder === ""
        ? { ...user, host: "127.0.0.1", port: Number(port), password: await passwordOf(path.resolve(dataDir)) }
        : { ...user, path: socketFile(socketFolder, Number(port)) }
    return { connection, url: urlOf(connection) }
  }).pipe(Effect.mapError(fail(`cannot find the PostgreSQL of ${dataDir}`)))
})
