// Runs a real PostgreSQL as a supervised child process: one per data directory, for one service.
import { Cause, Deferred, Effect, Schedule } from "effect"
import type { Scope } from "effect"
import * as fs from "node:fs/promises"
import * as path from "node:path"
import { DatabaseError } from "../DatabaseError.ts"
import * as Binaries from "./Binaries.ts"
import * as DataDirectory from "./DataDirectory.ts"
import * as Folder from "./Folder.ts"
import * as Owner from "./Owner.ts"
import * as Pid from "./Pid.ts"
import * as Postmaster from "./Postmaster.ts"
import { serverUser } from "./SystemUser.ts"
import * as Transport from "./Transport.ts"

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
): Effect.fn.Return<Transport.Server & { readonly files: string }, DatabaseError, Scope.Scope> {
  const user = serverUser()
  const dataDir = path.resolve(options.dataDir)
  const overTcp = (options.transport ?? (process.platform === "win32" ? "tcp" : "unix")) === "tcp"

  yield* Effect.tryPromise(() => Folder.create(dataDir, user === undefined ? 0o700 : 0o711)).pipe(
    Effect.mapError(DatabaseError.system(`cannot create the data directory ${dataDir}`))
  )
  const secret = overTcp ? yield* Transport.password(dataDir, user) : undefined
  const binaries = yield* Binaries.locate(options.bin, user)
  const folder = yield* DataDirectory.place(dataDir, user)
  yield* Owner.claim(folder)
  yield* DataDirectory.prepare(binaries, folder, user, { passwordFile: secret?.file })

  const { listen, server } =
    secret === undefined ? yield* Transport.unix(folder, user) : yield* Transport.tcp(secret.value)
  if (server.connection.path !== undefined) yield* Owner.refuseUnseen(folder, server.connection.path)

  const run = Owner.clear(folder).pipe(
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
      while: (error) => Pid.isClaimed(folder) || Postmaster.isBeforeSessionsEnded(error),
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
  return yield* Effect.tryPromise(async (): Promise<Transport.Server | undefined> => {
    const target = await fs.realpath(folder).catch(() => undefined)
    if (target === undefined || Pid.running(target) === undefined) return undefined
    // Lines of `postmaster.pid`: process id, data folder, start time, port, socket folder, first address.
    const lines = (await fs.readFile(path.join(target, "postmaster.pid"), "utf8")).split("\n")
    const [, , , port = "", socketFolder = ""] = lines.map((line) => line.trim())
    return socketFolder === ""
      ? Transport.serverAtPort(Number(port), await Transport.readPassword(path.resolve(dataDir)))
      : Transport.serverAtSocket(socketFolder, Number(port))
  }).pipe(Effect.mapError(DatabaseError.system(`cannot find the PostgreSQL of ${dataDir}`)))
})
