// Where the files of an embedded database are, their removal, and their claim: one service at a time uses them.
import { Clock, Effect } from "effect"
import type { Scope } from "effect"
import * as fs from "node:fs/promises"
import * as net from "node:net"
import * as os from "node:os"
import * as path from "node:path"
import { DatabaseError } from "../Connection.ts"
import * as Postmaster from "./Postmaster.ts"
import { removeStaleFiles, runningServer } from "./Postmaster.ts"

// Makes sure that one service at a time uses a data directory, from before its server starts until after it has ended.

const inUse = (folder: string, owner: string) => DatabaseError.of("DirectoryInUse", `${folder} is in use by ${owner}`)

/** SQLite's code for a lock that another process holds. */
const busy = 5

/** Only the owner can open the file. Another user could lock it and prevent the service from starting. */
const makePrivate = async (file: string): Promise<void> => {
  await fs.open(file, "wx", 0o600).then(
    (made) => made.close(),
    (cause: NodeJS.ErrnoException) => (cause.code === "EEXIST" ? undefined : Promise.reject(cause))
  )
  // An earlier version created the file readable for all users. Only its owner can change the mode.
  await fs.chmod(file, 0o600).catch(() => undefined)
}

/**
 * A file lock of the operating system. It ends with the process, and every container on the same volume sees it. Node has no file locks; SQLite
 * uses them on every system. Nothing else in this process may open `file`: closing it would release the lock.
 */
const lockFile = async (file: string) => {
  const { DatabaseSync } = await import("node:sqlite")
  await makePrivate(file)
  const database = new DatabaseSync(file)
  try {
    // A journal in memory leaves no file after a kill. The write is never committed; it fails for a read-only file, on which BEGIN locks nothing.
    database.exec("PRAGMA journal_mode = MEMORY; BEGIN IMMEDIATE; PRAGMA user_version = 0")
    return database
  } catch (cause) {
    database.close()
    if ((cause as { readonly errcode?: number }).errcode === busy) return undefined
    throw cause
  }
}

const ownName = `effect-relayer process ${process.pid} on ${os.hostname()}`

/** Waits up to a second: a process that has just taken the lock is about to write its name. */
const readName = (file: string) =>
  Effect.promise(() => fs.readFile(file, "utf8").catch(() => "")).pipe(
    Effect.delay("100 millis"),
    Effect.repeat({ until: (owner) => owner !== "", times: 9 })
  )

/**
 * Claims `folder`, which may not exist yet, for this process until the scope closes. The lock is beside the folder, in a
 * place that only the users that may create the folder can write to. Fails with the name of the other process if there is one.
 */
export const claimFolder = Effect.fnUntraced(function* (
  folder: string
): Effect.fn.Return<void, DatabaseError, Scope.Scope> {
  const nameFile = `${folder}.owner`
  const held = yield* Effect.acquireRelease(
    Effect.tryPromise({
      try: () => lockFile(`${folder}.lock`),
      catch: DatabaseError.system(`cannot lock ${folder}`)
    }),
    (held) => Effect.sync(() => held?.close())
  )
  if (held === undefined) return yield* inUse(folder, (yield* readName(nameFile)) || "another effect-relayer")
  // Only messages use the name, so a full disk is no reason to fail.
  yield* Effect.acquireRelease(
    Effect.promise(() => fs.writeFile(nameFile, ownName, { mode: 0o600 }).catch(() => undefined)),
    () => Effect.promise(() => fs.rm(nameFile, { force: true }).catch(() => undefined))
  )
})

/** Fails if a server listens on `socket` whose process is not visible here: it outlived its service in another container. */
export const refuseUnseenServer = (folder: string, socket: string) =>
  Effect.callback<void, DatabaseError>((resume) => {
    const connection = net.connect(socket)
    const finish = (listens: boolean) => {
      connection.destroy()
      const isUnseen = listens && runningServer(folder) === undefined
      resume(isUnseen ? Effect.fail(inUse(folder, "a PostgreSQL of another container")) : Effect.void)
    }
    connection.once("connect", () => finish(true))
    // EAGAIN: the queue of the socket is full, so a server listens but is frozen.
    connection.once("error", (error: NodeJS.ErrnoException) => finish(error.code === "EAGAIN"))
  })

/** Stops the server of an earlier service, or removes the lock files of a server that was killed. */
export const clearClaim = Effect.fnUntraced(function* (folder: string) {
  const pid = runningServer(folder)
  if (pid !== undefined) {
    yield* Effect.annotateLogs(Effect.logInfo("stopping the PostgreSQL of an earlier service"), { pid })
    return yield* Postmaster.stop(pid)
  }
  const now = yield* Clock.currentTimeMillis
  return yield* Effect.try({
    try: () => removeStaleFiles(folder, now),
    catch: DatabaseError.system("cannot remove the lock file of a server that has ended")
  })
})

export interface DataFiles {
  readonly dataDir: string
  /** The folder of the database files, outside `dataDir` if root started the service and PostgreSQL cannot reach `dataDir`. */
  readonly database: string | undefined
  readonly isElsewhere: boolean
  /** The id of the PostgreSQL process that runs on them. */
  readonly pid: number | undefined
  readonly bytes: number
  /** Files beside the database in `dataDir`: keys and locks. */
  readonly others: ReadonlyArray<string>
}

const sizeOf = async (folder: string): Promise<number> => {
  const entries = await fs.readdir(folder, { recursive: true, withFileTypes: true })
  const sizes = entries
    .filter((entry) => entry.isFile())
    // A running server removes files meanwhile.
    .map((entry) =>
      fs.stat(path.join(entry.parentPath, entry.name)).then(
        ({ size }) => size,
        () => 0
      )
    )
  return (await Promise.all(sizes)).reduce((sum, size) => sum + size, 0)
}

const link = (dataDir: string) => path.join(dataDir, "postgres")

export const find = (dataDir: string): Effect.Effect<DataFiles, DatabaseError> =>
  Effect.tryPromise({
    try: async () => {
      const resolved = path.resolve(dataDir)
      const names = await fs.readdir(resolved).catch(() => [])
      const database = await fs.realpath(link(resolved)).catch(() => undefined)
      return {
        dataDir: resolved,
        database,
        isElsewhere: database !== undefined && database !== (await fs.realpath(resolved).then(link)),
        pid: database === undefined ? undefined : runningServer(database),
        bytes: database === undefined ? 0 : await sizeOf(database),
        others: names.filter((name) => name !== "postgres").toSorted()
      }
    },
    catch: DatabaseError.system(`cannot read ${dataDir}`)
  })

/** Removes the database files, wherever they are, the locks, and what is known about the database. Fails while a service uses them. Keys stay. */
export const remove = Effect.fn("DataFiles.remove")(function* (files: DataFiles) {
  const { database, dataDir, isElsewhere } = files
  if (database === undefined) return
  yield* claimFolder(database)
  yield* clearClaim(database)
  yield* Effect.tryPromise({
    try: async () => {
      await fs.rm(database, { recursive: true, force: true })
      if (isElsewhere) {
        await fs.rm(link(dataDir), { force: true })
        await fs.rm(path.dirname(database), { recursive: true, force: true })
      }
      for (const name of ["postgres.password", "postgres.lock", "audit-head"])
        await fs.rm(path.join(dataDir, name), { force: true })
    },
    catch: DatabaseError.system(`cannot remove ${database}`)
  })
}, Effect.scoped)
