// PostgreSQL refuses to run as root. If root starts the service, PostgreSQL runs as a user without rights.
import { Effect } from "effect"
import * as fs from "node:fs/promises"
import * as path from "node:path"
import { DatabaseError } from "../DatabaseError.ts"

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
export const admit = (user: SystemUser, folder: string): Effect.Effect<boolean> =>
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
