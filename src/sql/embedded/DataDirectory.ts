// Creates the files of the embedded PostgreSQL completely or not at all, for the user that PostgreSQL runs as.
import { Cause, Effect } from "effect"
import { execFile } from "node:child_process"
import * as fs from "node:fs/promises"
import * as path from "node:path"
import { promisify } from "node:util"
import * as LeftFiles from "./LeftFiles.ts"
import { DatabaseError } from "../Connection.ts"
import { admitUser, canReach, sharedFolder } from "./Binaries.ts"
import type { Binaries, SystemUser } from "./Binaries.ts"
import * as Durable from "./Durable.ts"

export const superuser = "relayer"

const run = promisify(execFile)

/** Adds the standard error of `initdb`, or else the error of the operating system. */
const fail = (message: string) => (error: unknown) => {
  const cause = Cause.isUnknownError(error) ? error.cause : error
  const stderr = (cause as { readonly stderr?: string }).stderr?.trim()
  return DatabaseError.system(message)(stderr ? new Error(stderr, { cause }) : cause)
}

/**
 * The folder, or the target of the link in its place. The target may be missing: a start that was killed leaves a link before it
 * creates files.
 */
const follow = async (folder: string): Promise<string | undefined> => {
  const found = await fs.realpath(folder).catch(() => undefined)
  if (found !== undefined) return found
  const link = await fs.readlink(folder).catch(() => undefined)
  if (link === undefined) return undefined
  const target = path.resolve(path.dirname(folder), link)
  await fs.stat(path.dirname(target)).catch((cause: unknown) => {
    const remedy = "restore that folder, or remove the link to start with an empty database"
    throw new Error(`${folder} is a link to ${target}, which does not exist: ${remedy}`, { cause })
  })
  return target
}

/** Makes a folder in `shared` and a link to it. Returns `undefined` if another start has made the link. */
const placeElsewhere = async (shared: string, folder: string): Promise<string | undefined> => {
  const parent = await fs.mkdtemp(path.join(shared, "data-"))
  await fs.chmod(parent, 0o755)
  const target = path.join(parent, "postgres")
  await LeftFiles.note(target, folder)
  try {
    await fs.symlink(target, folder)
  } catch (cause) {
    await fs.rm(parent, { recursive: true })
    if ((cause as NodeJS.ErrnoException).code === "EEXIST") return undefined
    throw cause
  }
  await Durable.syncFolder(shared)
  await Durable.syncFolder(path.dirname(folder))
  return target
}

/** The folder `postgres` in the data directory, or the target of a link there if `user` cannot reach the data directory. */
export const place = Effect.fn("DataDirectory.place")(
  function* (dataDir: string, user: SystemUser | undefined) {
    const folder = path.join(dataDir, "postgres")
    const lookUp = Effect.tryPromise(() => follow(folder))
    const found = yield* lookUp
    if (found !== undefined) {
      // The data directory may have been moved, or have been made by a version that left no note.
      if (found !== folder) yield* Effect.tryPromise(() => LeftFiles.note(found, folder))
      return found
    }
    yield* LeftFiles.warn(folder)
    if (user === undefined || (yield* canReach(user, folder))) return folder
    if (yield* admitUser(user, dataDir)) {
      yield* Effect.annotateLogs(Effect.logInfo("let the group of the unprivileged user enter the data directory"), {
        folder: dataDir,
        gid: user.gid
      })
      return folder
    }
    const shared = yield* sharedFolder
    const made = yield* Effect.tryPromise(() => placeElsewhere(shared, folder))
    if (made === undefined) return (yield* lookUp) ?? folder
    yield* Effect.logInfo("placed the database files where an unprivileged user can reach them").pipe(
      Effect.annotateLogs({ folder: made })
    )
    return made
  },
  (self, dataDir) => Effect.mapError(self, fail(`cannot place the database files of ${dataDir}`))
)

/** Retries because an `initdb` whose service was killed may still write into the folder. */
const remove = (folder: string) => fs.rm(folder, { recursive: true, force: true, maxRetries: 20, retryDelay: 50 })

/** A start that was killed during `initdb` leaves an unfinished folder. */
const removeUnfinished = async (prefix: string): Promise<void> => {
  const parent = path.dirname(prefix)
  for (const name of await fs.readdir(parent)) {
    if (name.startsWith(path.basename(prefix))) await remove(path.join(parent, name))
  }
}

export interface Credentials {
  /** The file with the superuser's password. Absent: the folder of the socket protects the server. */
  readonly passwordFile: string | undefined
}

/** One call syncs a thousand files, with the same durability. Linux and `initdb` from version 17 on support it. */
const syncMethod = (binaries: Binaries): ReadonlyArray<string> =>
  process.platform === "linux" && binaries.major >= 17 ? ["--sync-method=syncfs"] : []

const initialise = (binaries: Binaries, folder: string, user: SystemUser | undefined, { passwordFile }: Credentials) =>
  Effect.tryPromise(async () => {
    const prefix = `${folder}.init-`
    await removeUnfinished(prefix)
    const unfinished = await fs.mkdtemp(prefix)
    if (user !== undefined) await fs.chown(unfinished, user.uid, user.gid)
    const authentication =
      passwordFile === undefined ? ["-A", "trust"] : ["-A", "scram-sha-256", `--pwfile=${passwordFile}`]
    const options = ["-D", unfinished, "-U", superuser, "-E", "UTF8", "--no-locale", "--no-instructions"]
    await run(binaries.initdb, [...options, ...authentication, ...syncMethod(binaries)], {
      ...user,
      cwd: unfinished,
      env: { LC_ALL: "C", PATH: path.dirname(binaries.initdb) }
    })
    // Fails if the folder contains files: existing data are never replaced.
    await fs.rename(unfinished, folder)
    await Durable.syncFolder(path.dirname(folder))
  }).pipe(Effect.mapError(fail(`cannot create a database in ${folder}`)))

/** Creates the files if there are none. The caller holds the folder (`Owner.claim`). */
export const prepare = Effect.fn("DataDirectory.prepare")(function* (
  binaries: Binaries,
  folder: string,
  user: SystemUser | undefined,
  credentials: Credentials
): Effect.fn.Return<void, DatabaseError> {
  const readVersion = Effect.promise(() => fs.readFile(path.join(folder, "PG_VERSION"), "utf8").catch(() => undefined))
  let version = yield* readVersion
  if (version === undefined) {
    yield* Effect.annotateLogs(Effect.logInfo("creating the files of the embedded PostgreSQL"), { folder })
    // An interrupted initdb would go on after another service claims the folder.
    yield* Effect.uninterruptible(initialise(binaries, folder, user, credentials))
    version = yield* readVersion
  }
  if (Number(version) !== binaries.major) {
    const message = `the data in ${folder} were created by PostgreSQL ${version?.trim()}, and the binaries are PostgreSQL ${binaries.major}`
    return yield* DatabaseError.of("DataVersionMismatch", message)
  }
})
