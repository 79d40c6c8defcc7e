// Processor time and memory of processes and those they have started, from `/proc`.
import * as fs from "node:fs"

interface Entry {
  readonly parent: number
  /** Milliseconds, with the ended ones that it has waited for. */
  readonly cpuMs: number
}

/** Clock ticks of `/proc/PID/stat`: 100 a second on every Linux. */
const tickMs = 10

const read = (pid: number): Entry | undefined => {
  try {
    // After the name, which may hold spaces: state, parent, … 12 user, 13 system, 14 and 15 those of ended children.
    const fields = fs
      .readFileSync(`/proc/${pid}/stat`, "utf8")
      .replace(/^.*\) /s, "")
      .split(" ")
      .map(Number)
    const ticks = fields.slice(11, 15).reduce((sum, each) => sum + each, 0)
    return { parent: fields[1] ?? 0, cpuMs: ticks * tickMs }
  } catch {
    return undefined
  }
}

const readAll = () => {
  const entries = new Map<number, Entry>()
  for (const name of fs.readdirSync("/proc")) {
    const entry = /^\d+$/.test(name) ? read(Number(name)) : undefined
    if (entry !== undefined) entries.set(Number(name), entry)
  }
  return entries
}

/** `root` and all below it, but for the trees of `except`. */
const members = (root: number, except?: number): ReadonlyArray<number> => {
  const entries = readAll()
  const found = [root]
  for (const pid of found) {
    for (const [child, { parent }] of entries) if (parent === pid && child !== except) found.push(child)
  }
  return found
}

/** Milliseconds of processor time so far. */
export const cpuMs = (root: number, except?: number): number =>
  members(root, except).reduce((sum, pid) => sum + (read(pid)?.cpuMs ?? 0), 0)

/** Of this process's children that have ended: what a program has used that ran from start to end in between. */
export const endedChildrenCpuMs = (): number => {
  const fields = fs
    .readFileSync("/proc/self/stat", "utf8")
    .replace(/^.*\) /s, "")
    .split(" ")
    .map(Number)
  return fields.slice(13, 15).reduce((sum, each) => sum + each, 0) * tickMs
}

const kibOf = (file: string, field: string): number => {
  try {
    return Number(new RegExp(`^${field}:\\s+(\\d+) kB`, "m").exec(fs.readFileSync(file, "utf8"))?.[1] ?? 0)
  } catch {
    return 0
  }
}

const sumMiB = (pids: ReadonlyArray<number>, file: string, field: string) =>
  pids.reduce((sum, pid) => sum + kibOf(`/proc/${pid}/${file}`, field), 0) / 1024

/** Resident MiB. */
export const residentMiB = (root: number, except?: number): number => sumMiB(members(root, except), "status", "VmRSS")

/** Proportional MiB: memory that processes share is counted once. */
export const proportionalMiB = (root: number): number => sumMiB(members(root), "smaps_rollup", "Pss")
