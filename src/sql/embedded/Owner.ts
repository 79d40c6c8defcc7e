// Who has a data directory: one service, from before there is a server until after it has ended.
import { Clock, Effect } from "effect"
import type { Scope } from "effect"
import * as fs from "node:fs/promises"
import * as net from "node:net"
import * as os from "node:os"
import { DatabaseError } from "../DatabaseError.ts"
import * as Pid from "./Pid.ts"
import * as Postmaster from "./Postmaster.ts"

const inUse = (folder: string, owner: string) =>
  new DatabaseError({ message: `${folder} is in use by ${owner}: stop it first, or choose another DATA_DIR` })

/** SQLite's code for a lock that somebody else holds. */
const busy = 5

/**
 * A lock of the system's, which it takes back the moment this process dies, and which every container on a volume sees.
 * Node offers none; that of SQLite is one on all systems. Nothing else in this process may open `file`: closing it again
 * would give the lock back.
 */
const lock = async (file: string) => {
  const { DatabaseSync } = await import("node:sqlite")
  const database = new DatabaseSync(file)
  try {
    // A journal on disk would stay behind a kill. The write, never committed, fails where the file may only be read: that locks nothing.
    database.exec("PRAGMA journal_mode = MEMORY; BEGIN IMMEDIATE; PRAGMA user_version = 0")
    return database
  } catch (cause) {
    database.close()
    if ((cause as { readonly errcode?: number }).errcode === busy) return undefined
    throw cause
  }
}

const name = `effect-relayer process ${process.pid} on ${os.hostname()}`

/**
 * Holds `folder`, which need not be there yet, for this process until the scope closes: beside it, where only who may make
 * it may write. Fails where another service does, and names it.
 */
export const claim = Effect.fnUntraced(function* (folder: string): Effect.fn.Return<void, DatabaseError, Scope.Scope> {
  const nameFile = `${folder}.owner`
  const held = yield* Effect.acquireRelease(
    Effect.tryPromise({
      try: () => lock(`${folder}.lock`),
      catch: (cause) => new DatabaseError({ message: `cannot lock ${folder}: ${String(cause)}`, cause })
    }),
    (held) => Effect.sync(() => held?.close())
  )
  if (held === undefined) {
    const owner = yield* Effect.promise(() => fs.readFile(nameFile, "utf8").catch(() => "")).pipe(
      // Whoever has only just taken it is about to write over the name of the one before.
      Effect.delay("100 millis"),
      Effect.repeat({ until: (owner) => owner !== "", times: 9 })
    )
    return yield* inUse(folder, owner || "another effect-relayer")
  }
  // For messages only: a disk that is full keeps nobody off.
  yield* Effect.acquireRelease(
    Effect.promise(() => fs.writeFile(nameFile, name).catch(() => undefined)),
    () => Effect.promise(() => fs.rm(nameFile, { force: true }).catch(() => undefined))
  )
})

/** Fails where a server listens whose process cannot be seen from here: one that outlived its service in another container. */
export const refuseUnseen = (folder: string, socket: string) =>
  Effect.callback<void, DatabaseError>((resume) => {
    const connection = net.connect(socket)
    const tell = (answers: boolean) => {
      connection.destroy()
      const isUnseen = answers && Pid.running(folder) === undefined
      resume(isUnseen ? Effect.fail(inUse(folder, "a PostgreSQL of another container")) : Effect.void)
    }
    connection.once("connect", () => tell(true))
    // Its queue is full: it listens, and is frozen.
    connection.once("error", (error: NodeJS.ErrnoException) => tell(error.code === "EAGAIN"))
  })

/** Stops the server that an earlier service left behind; one that was killed left lock files, which go. */
export const clear = Effect.fnUntraced(function* (folder: string) {
  const pid = Pid.running(folder)
  if (pid !== undefined) {
    yield* Effect.logInfo("stopping the PostgreSQL that an earlier service left behind", { pid })
    return yield* Postmaster.stop(pid)
  }
  const now = yield* Clock.currentTimeMillis
  return yield* Effect.try({
    try: () => Pid.removeStale(folder, now),
    catch: (cause) => new DatabaseError({ message: "cannot remove the lock file of a server that is gone", cause })
  })
})
