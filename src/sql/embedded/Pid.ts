// Process ids, and the one that PostgreSQL leaves in its data folder.
import * as fs from "node:fs"
import * as path from "node:path"

/** A process that has ended but whose parent has not asked for it yet still has an id. */
const isZombie = (pid: number): boolean => {
  try {
    return / Z /.test(fs.readFileSync(`/proc/${pid}/stat`, "utf8").replace(/^.*\)/, ""))
  } catch {
    return false
  }
}

export const isAlive = (pid: number): boolean => {
  try {
    process.kill(pid, 0)
    return !isZombie(pid)
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === "EPERM"
  }
}

/** Process ids are used again, in containers soon: where the system tells, the name counts too. */
const isPostgres = (pid: number): boolean => {
  try {
    return fs.readFileSync(`/proc/${pid}/comm`, "utf8").startsWith("postgres")
  } catch {
    return process.platform !== "linux"
  }
}

/** A PostgreSQL works in its data folder; not every root may look where another user's process does. */
const isElsewhere = (pid: number, folder: string): boolean => {
  try {
    return fs.readlinkSync(`/proc/${pid}/cwd`) !== fs.realpathSync(folder)
  } catch {
    return false
  }
}

/** The living server of `folder` that the first line of a lock file names. */
const living = (folder: string, line: string | undefined): number | undefined => {
  const pid = Number(line)
  if (!Number.isInteger(pid) || pid <= 0 || !isAlive(pid)) return undefined
  return isPostgres(pid) && !isElsewhere(pid, folder) ? pid : undefined
}

const lockFile = (folder: string) => path.join(folder, "postmaster.pid")

/** Whether a server is there, begins to be, or was killed. */
export const isClaimed = (folder: string): boolean => fs.existsSync(lockFile(folder))

const read = (file: string): string | undefined => {
  try {
    return fs.readFileSync(file, "utf8")
  } catch {
    return undefined
  }
}

/** The process id of the server that runs on these files, if one does. */
export const running = (folder: string): number | undefined => living(folder, read(lockFile(folder))?.split("\n")[0])

/** An empty lock file is one that a server is about to fill, unless it is that old, in milliseconds. */
const filledWithin = 5000

const isStale = (folder: string, file: string, now: number): boolean => {
  const text = read(file)
  if (text === "") return now - (fs.statSync(file, { throwIfNoEntry: false })?.mtimeMs ?? now) > filledWithin
  return text !== undefined && living(folder, text.split("\n")[0]) === undefined
}

/** Removes the lock files of a server that is gone; PostgreSQL would take any process with that id for it. */
export const removeStale = (folder: string, now: number): void => {
  for (const file of [lockFile(folder), path.join(folder, ".s.PGSQL.5432.lock")]) {
    if (isStale(folder, file, now)) fs.rmSync(file, { force: true })
  }
}
