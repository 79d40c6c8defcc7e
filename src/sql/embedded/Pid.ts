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

export interface Running {
  readonly pid: number
  readonly port: number
  readonly socketFolder: string | undefined
}

/** The server that runs on these files, if one does. Lines of `postmaster.pid`: 1 process id, 4 port, 5 socket folder. */
export const running = (folder: string): Running | undefined => {
  let lines: Array<string>
  try {
    lines = fs.readFileSync(path.join(folder, "postmaster.pid"), "utf8").split("\n")
  } catch {
    return undefined
  }
  const pid = Number(lines[0])
  if (!Number.isInteger(pid) || pid <= 0 || !isAlive(pid) || !isPostgres(pid)) return undefined
  return { pid, port: Number(lines[3]), socketFolder: lines[4] === "" ? undefined : lines[4] }
}

/** Removes the lock files of a server that is gone; PostgreSQL would take any process with that id for it. */
export const removeStale = (folder: string): void => {
  if (running(folder) !== undefined) return
  for (const name of ["postmaster.pid", ".s.PGSQL.5432.lock", ".s.PGSQL.5432"]) {
    fs.rmSync(path.join(folder, name), { force: true })
  }
}
