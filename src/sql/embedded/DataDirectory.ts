// The files of the embedded PostgreSQL: made whole or not at all, owned by the user that PostgreSQL runs as.
import { Cause, Effect } from "effect"
import { execFile } from "node:child_process"
import * as fs from "node:fs/promises"
import * as path from "node:path"
import { promisify } from "node:util"
import { DatabaseError } from "../DatabaseError.ts"
import type { Binaries } from "./Binaries.ts"
import * as Durable from "./Durable.ts"
import { canReach, sharedFolder, type SystemUser } from "./SystemUser.ts"

export const superuser = "relayer"

const run = promisify(execFile)

/** With what the system, or `initdb`, says of it. */
const fail = (message: string) => (error: unknown) => {
  const cause = error instanceof Cause.UnknownError ? error.cause : error
  const reason =
    (cause as { readonly stderr?: string }).stderr?.trim() || (cause instanceof Error ? cause.message : String(cause))
  return new DatabaseError({ message: `${message}: ${reason.split("\n")[0]}`, cause })
}

/** Where `folder` is, or where that link points to: who made it may have been killed before there were files. */
const follow = async (folder: string): Promise<string | undefined> => {
  const found = await fs.realpath(folder).catch(() => undefined)
  if (found !== undefined) return found
  const link = await fs.readlink(folder).catch(() => undefined)
  if (link === undefined) return undefined
  const target = path.resolve(path.dirname(folder), link)
  await fs.stat(path.dirname(target)).catch((cause: unknown) => {
    const remedy = "bring that folder back, or remove the link to begin with an empty database"
    throw new Error(`${folder} is a link to ${target}, which is gone: ${remedy}`, { cause })
  })
  return target
}

/** A new folder under `shared`, with a link to it: `undefined` where another start has made the link by now. */
const elsewhere = async (shared: string, folder: string): Promise<string | undefined> => {
  const parent = await fs.mkdtemp(path.join(shared, "data-"))
  await fs.chmod(parent, 0o755)
  const target = path.join(parent, "postgres")
  try {
    await fs.symlink(target, folder)
  } catch (cause) {
    await fs.rmdir(parent)
    if ((cause as NodeJS.ErrnoException).code === "EEXIST") return undefined
    throw cause
  }
  await Durable.syncFolder(shared)
  await Durable.syncFolder(path.dirname(folder))
  return target
}

/** `DATA_DIR/postgres`, or where that link points to: somewhere `user` can reach when `DATA_DIR` is not. */
export const place = Effect.fn("DataDirectory.place")(
  function* (dataDir: string, user: SystemUser | undefined) {
    const folder = path.join(dataDir, "postgres")
    const look = Effect.tryPromise(() => follow(folder))
    const found = yield* look
    if (found !== undefined) return found
    if (user === undefined || (yield* canReach(user, folder))) return folder
    const shared = yield* sharedFolder
    const made = yield* Effect.tryPromise(() => elsewhere(shared, folder))
    if (made === undefined) return (yield* look) ?? folder
    yield* Effect.logInfo("database files are where an unprivileged user can reach them", { folder: made })
    return made
  },
  (self, dataDir) => Effect.mapError(self, fail(`cannot place the database files of ${dataDir}`))
)

/** An `initdb` whose service was killed may still be writing into it: a folder that is not empty yet is tried again. */
const remove = (folder: string) => fs.rm(folder, { recursive: true, force: true, maxRetries: 20, retryDelay: 50 })

/** A start that was killed inside `initdb` leaves its unfinished folder. */
const removeUnfinished = async (prefix: string): Promise<void> => {
  const parent = path.dirname(prefix)
  for (const name of await fs.readdir(parent)) {
    if (name.startsWith(path.basename(prefix))) await remove(path.join(parent, name))
  }
}

export interface Credentials {
  /** File with the superuser's password; absent where the socket's folder protects the server. */
  readonly passwordFile: string | undefined
}

/** A thousand files on disk by one call instead of one each; what returns is as durable. Linux has it, `initdb` from 17 on. */
const syncAtOnce = (binaries: Binaries): ReadonlyArray<string> =>
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
    await run(binaries.initdb, [...options, ...authentication, ...syncAtOnce(binaries)], {
      ...user,
      cwd: unfinished,
      env: { LC_ALL: "C", PATH: path.dirname(binaries.initdb) }
    })
    // Fails where there are files in it by now: those are never replaced.
    await fs.rename(unfinished, folder)
    await Durable.syncFolder(path.dirname(folder))
  }).pipe(Effect.mapError(fail(`cannot make a database in ${folder}`)))

/** Makes the files of `folder` where there are none. Whoever calls it holds the folder. */
export const prepare = Effect.fn("DataDirectory.prepare")(function* (
  binaries: Binaries,
  folder: string,
  user: SystemUser | undefined,
  credentials: Credentials
): Effect.fn.Return<void, DatabaseError> {
  const readVersion = Effect.promise(() => fs.readFile(path.join(folder, "PG_VERSION"), "utf8").catch(() => undefined))
  let version = yield* readVersion
  if (version === undefined) {
    // Given up in its middle, it would go on when somebody else holds the folder.
    yield* Effect.uninterruptible(initialise(binaries, folder, user, credentials))
    version = yield* readVersion
  }
  if (Number(version) !== binaries.major) {
    return yield* new DatabaseError({
      message: `the data in ${folder} were made by PostgreSQL ${version?.trim()}, these binaries are ${binaries.major}: set POSTGRES_BIN to binaries of PostgreSQL ${version?.trim()}`
    })
  }
})
