// Where the files of an embedded database are, and their removal.
import { Effect } from "effect"
import * as fs from "node:fs/promises"
import * as path from "node:path"
import { DatabaseError } from "../DatabaseError.ts"
import * as Owner from "./Owner.ts"
import * as Pid from "./Pid.ts"

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
        pid: database === undefined ? undefined : Pid.running(database),
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
  yield* Owner.claim(database)
  yield* Owner.clear(database)
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
