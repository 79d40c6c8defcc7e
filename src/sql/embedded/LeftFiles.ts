// Database files outside of their data directories, which a removed data directory leaves behind. Beside the files of each is a note with
// the link that led to them.
import { Effect } from "effect"
import * as fs from "node:fs/promises"
import * as path from "node:path"
import { sharedFolders } from "./Binaries.ts"
import { runningServer } from "./Postmaster.ts"

export interface LeftFiles {
  /** The folder of the database files. */
  readonly database: string
  /** The link that led to them. Absent: a version that left no note made them. */
  readonly link: string | undefined
}

const noteOf = (database: string) => path.join(path.dirname(database), "linked-from")

/** Says which link leads to the files. Nothing is written if it says so already, or if they are not of root. */
export const note = async (database: string, link: string): Promise<void> => {
  const file = noteOf(database)
  const isShared = sharedFolders.includes(path.dirname(path.dirname(database)))
  const absolute = path.resolve(link)
  if (!isShared || (await fs.readFile(file, "utf8").catch(() => undefined)) === absolute) return
  await fs.writeFile(file, absolute, { mode: 0o600 }).catch(() => undefined)
}

const isLinked = async (database: string, link: string | undefined): Promise<boolean> =>
  link !== undefined && (await fs.realpath(link).catch(() => undefined)) === database

const inside = async (shared: string): Promise<ReadonlyArray<LeftFiles>> => {
  const names = await fs.readdir(shared).catch(() => [])
  const all = await Promise.all(
    names
      .filter((name) => name.startsWith("data-"))
      .map(async (name) => {
        const database = path.join(shared, name, "postgres")
        const link = await fs.readFile(noteOf(database), "utf8").catch(() => undefined)
        const isLeft = runningServer(database) === undefined && !(await isLinked(database, link))
        return isLeft ? [{ database, link }] : []
      })
  )
  return all.flat()
}

/** Files that no link leads to any more, and whose server does not run. */
export const find: Effect.Effect<ReadonlyArray<LeftFiles>> = Effect.promise(async () =>
  (await Promise.all(sharedFolders.map(inside))).flat()
)

/** Says where an earlier database of the same data directory is. */
export const warn = (link: string) =>
  Effect.flatMap(find, (left) =>
    Effect.forEach(
      left.filter((each) => each.link === path.resolve(link)),
      ({ database }) =>
        Effect.annotateLogs(
          Effect.logWarning("an earlier database of the data directory is left: effect-relayer data says more"),
          { folder: database }
        ),
      { discard: true }
    )
  )

/** `database`: of `find`. */
export const remove = ({ database }: LeftFiles): Promise<void> =>
  fs.rm(path.dirname(database), { recursive: true, force: true })
