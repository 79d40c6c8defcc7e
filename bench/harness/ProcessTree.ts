// CPU time and memory of a process with all its descendants, from `/proc`.
import * as fs from "node:fs"

interface Entry {
  readonly parent: number
  /** CPU time in milliseconds. It includes children that have ended and were waited for. */
  readonly cpuMs: number
}

/** The unit of times in `/proc/PID/stat`: 100 ticks per second on every Linux. */
const tickMs = 10

const read = (pid: number): Entry | undefined => {
  try {
    // The name may contain spaces. The fields after it: state, parent, … user time (12), system time (13), and both
    // times of the children that have ended (14, 15).
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

/** `root` and its descendants, without the process `except` and its descendants. */
const members = (root: number, except?: number): ReadonlyArray<number> => {
  const entries = readAll()
  const found = [root]
  for (const pid of found) {
    for (const [child, { parent }] of entries) if (parent === pid && child !== except) found.push(child)
  }
  return found
}

/** CPU time so far, in milliseconds. */
export const cpuMs = (root: number, except?: number): number =>
  members(root, except).reduce((sum, pid) => sum + (read(pid)?.cpuMs ?? 0), 0)

/** CPU time of the ended children of this process. A difference is the CPU time of a program that ran in between. */
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

/** Resident memory in MiB. */
export const residentMiB = (root: number, except?: number): number => sumMiB(members(root, except), "status", "VmRSS")

/** Proportional memory in MiB: memory that processes share is counted once. */
export const proportionalMiB = (root: number): number => sumMiB(members(root), "smaps_rollup", "Pss")
