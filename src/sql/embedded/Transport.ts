// How clients reach the embedded server: a Unix socket in the data folder, or TCP on loopback with a password.
import type { PgClient } from "@effect/sql-pg"
import { Effect, Redacted } from "effect"
import type { Scope } from "effect"
import { randomBytes } from "node:crypto"
import { existsSync } from "node:fs"
import * as fs from "node:fs/promises"
import * as net from "node:net"
import * as os from "node:os"
import * as path from "node:path"
import * as Address from "../Address.ts"
import { DatabaseError } from "../DatabaseError.ts"
import * as DataDirectory from "./DataDirectory.ts"
import * as Durable from "./Durable.ts"
import type { Listen } from "./Postmaster.ts"
import type { SystemUser } from "./SystemUser.ts"

type Connection = Pick<PgClient.PgClientConfig, "path" | "host" | "port" | "database" | "username" | "password">

export interface Server {
  readonly connection: Connection
  /** The same connection as a URL. */
  readonly url: Redacted.Redacted
  /** The URL if the server is on a Unix socket: it contains no password. */
  readonly socketUrl: string | undefined
}

export interface Transport {
  readonly listen: Listen
  readonly server: Server
}

const database = "postgres"
const username = DataDirectory.superuser
const loopback = "127.0.0.1"

/** The number in the name of the socket. Nothing listens on TCP there. */
const socketPort = 5432

/** Bytes. `sun_path` holds 108 on Linux and 104 on macOS, of which the last is a NUL. */
const maxSocketPath = 103

/** Bytes. A longer temporary folder leaves no room for the name of the socket. */
const maxTemporaryPath = 60

export const serverAtSocket = (socketFolder: string, port: number): Server => {
  const socketUrl = Address.socketUrl(username, database, socketFolder, port)
  const connection = { database, username, path: Address.socketFile(socketFolder, port) }
  return { connection, url: Redacted.make(socketUrl), socketUrl }
}

export const serverAtPort = (port: number, password: Redacted.Redacted): Server => {
  const url = `postgres://${username}:${encodeURIComponent(Redacted.value(password))}@${loopback}:${port}/${database}`
  const connection = { database, username, host: loopback, port, password }
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
export const unix = Effect.fnUntraced(function* (
  folder: string,
  user: SystemUser | undefined
): Effect.fn.Return<Transport, DatabaseError, Scope.Scope> {
  const fits = Buffer.byteLength(Address.socketFile(folder, socketPort)) <= maxSocketPath
  const socketFolder = fits ? folder : yield* shortLink(folder, user)
  return { listen: { socketFolder, port: socketPort }, server: serverAtSocket(socketFolder, socketPort) }
})

const passwordFile = (dataDir: string) => path.join(dataDir, "postgres.password")

export const readPassword = async (dataDir: string): Promise<Redacted.Redacted> =>
  Redacted.make((await fs.readFile(passwordFile(dataDir), "utf8")).trim())

/** The password of the server on TCP, made on the first start and kept in the data directory. */
export const password = (dataDir: string, user: SystemUser | undefined) =>
  Effect.tryPromise(async () => {
    const file = passwordFile(dataDir)
    if (!existsSync(file)) await Durable.add(file, randomBytes(32).toString("base64url"))
    if (user !== undefined) await fs.chown(file, user.uid, user.gid)
    return { file, value: await readPassword(dataDir) }
  }).pipe(Effect.mapError(DatabaseError.system(`cannot keep a database password in ${dataDir}`)))

const freePort = Effect.callback<number, DatabaseError>((resume) => {
  const server = net.createServer()
  const fail = DatabaseError.system("there is no free port for PostgreSQL")
  server.once("error", (cause) => resume(Effect.fail(fail(cause))))
  server.listen(0, loopback, () => {
    const { port } = server.address() as net.AddressInfo
    server.close(() => resume(Effect.succeed(port)))
  })
})

/** A free port of loopback. */
export const tcp = (password: Redacted.Redacted): Effect.Effect<Transport, DatabaseError> =>
  Effect.map(freePort, (port) => ({
    listen: { socketFolder: undefined, port },
    server: serverAtPort(port, password)
  }))
