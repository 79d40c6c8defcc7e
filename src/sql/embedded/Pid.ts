// Finds out whether a process, and the PostgreSQL server of a data folder, is running.
import * as fs from "node:fs"
import * as path from "node:path"

/** A zombie has ended but keeps its id until its parent collects it. */
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

/** Process ids are reused, in containers soon. On Linux the name of the process is checked too. */
const isPostgres = (pid: number): boolean => {
  try {
    return fs.readFileSync(`/proc/${pid}/comm`, "utf8").startsWith("postgres")
  } catch {
    return process.platform !== "linux"
  }
}

/** The working directory of a PostgreSQL is its data folder. False if the system does not show it, also to some roots. */
const isElsewhere = (pid: number, folder: string): boolean => {
  try {
    return fs.readlinkSync(`/proc/${pid}/cwd`) !== fs.realpathSync(folder)
  } catch {
    return false
  }
}

/** The id in the first line of a lock file, if that process is the server of `folder` and runs. */
const living = (folder: string, line: string | undefined): number | undefined => {
  const pid = Number(line)
  if (!Number.isInteger(pid) || pid <= 0 || !isAlive(pid)) return undefined
  return isPostgres(pid) && !isElsewhere(pid, folder) ? pid : undefined
}

const lockFile = (folder: string) => path.join(folder, "postmaster.pid")

/** Whether a server runs, starts, or was killed here. */
export const isClaimed = (folder: string): boolean => fs.existsSync(lockFile(folder))

const read = (file: string): string | undefined => {
  try {
    return fs.readFileSync(file, "utf8")
  } catch {
    return undefined
  }
}

/** The process id of the server that runs on these files. */
export const running = (folder: string): number | undefined => living(folder, read(lockFile(folder))?.split("\n")[0])

/** Milliseconds. A younger lock file that is empty belongs to a server that is about to fill it. */
const filledWithin = 5000

const isStale = (folder: string, file: string, now: number): boolean => {
  const text = read(file)
  if (text === "") return now - (fs.statSync(file, { throwIfNoEntry: false })?.mtimeMs ?? now) > filledWithin
  return text !== undefined && living(folder, text.split("\n")[0]) === undefined
}

/** Removes the lock files of a server that has ended: PostgreSQL would mistake any process with the same id for that server. */
export const removeStale = (folder: string, now: number): void => {
  for (const file of [lockFile(folder), path.join(folder, ".s.PGSQL.5432.lock")]) {
    if (isStale(folder, file, now)) fs.rmSync(file, { force: true })
  }
}
