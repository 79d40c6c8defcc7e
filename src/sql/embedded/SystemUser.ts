// PostgreSQL refuses to run as root. Started by root, it runs as a user without rights instead.
import { Effect } from "effect"
import { DatabaseError } from "../DatabaseError.ts"
import * as fs from "node:fs/promises"
import * as path from "node:path"

export interface SystemUser {
  readonly uid: number
  readonly gid: number
}

/** `nobody` on most systems; only a number is needed. */
const unprivileged: SystemUser = { uid: 65534, gid: 65534 }

/** The user to run PostgreSQL as: absent where this process may do so itself. */
export const serverUser = (): SystemUser | undefined => (process.getuid?.() === 0 ? unprivileged : undefined)

const allows = (mode: number, owner: { uid: number; gid: number }, user: SystemUser, bits: number): boolean => {
  const shift = owner.uid === user.uid ? 6 : owner.gid === user.gid ? 3 : 0
  return ((mode >> shift) & bits) === bits
}

const execute = 1
const readAndExecute = 5

/** Whether `user` can enter every folder above `target`, and read `target` itself where it exists. */
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

/**
 * A folder of root's that everybody can enter and nobody else can write, for what the server user cannot reach where it
 * is. Fails where somebody else made it first.
 */
export const sharedFolder: Effect.Effect<string, DatabaseError> = Effect.tryPromise({
  try: async () => {
    const candidates = ["/var/lib/effect-relayer", "/var/tmp/effect-relayer"]
    const failures: Array<string> = []
    for (const folder of candidates) {
      try {
        await fs.mkdir(folder, { mode: 0o755, recursive: true })
        const stat = await fs.lstat(folder)
        if (stat.isDirectory() && stat.uid === 0 && (stat.mode & 0o022) === 0) return folder
        failures.push(`${folder} is not root's alone`)
      } catch (cause) {
        failures.push(String(cause))
      }
    }
    throw new Error(`no folder for the embedded PostgreSQL: ${failures.join("; ")}`)
  },
  catch: (cause) => new DatabaseError({ message: String(cause), cause })
})
