// The service on its embedded PostgreSQL with default settings, in a temporary folder.
import { Effect } from "effect"
import * as fs from "node:fs"
import * as path from "node:path"
import { pathToFileURL } from "node:url"
import { isProcessAlive } from "../src/sql/embedded/Postmaster.ts"
import { folder, postgresPid, until } from "../testkit/process/Folder.ts"
import * as Service from "../testkit/process/Service.ts"

/** Rate limits that no case reaches, except cases about rate limits. */
const unlimited = { RATE_LIMIT_REQUESTS_PER_SECOND: "1000000", RATE_LIMIT_BURST_SIZE: "1000000" }

export const make = Effect.map(folder, (home) => {
  const dataDir = path.join(home, "data")
  const env = { API_KEY: Service.apiKey, DATA_DIR: dataDir, ...unlimited }
  return {
    home,
    dataDir,
    env,
    /** Starts one service per delay, in milliseconds. */
    contest: (delays: ReadonlyArray<number>, isolated: boolean) =>
      Service.contest({ folder: home, env, isolated }, delays),
    listen: (more: Record<string, string> = {}, flags: ReadonlyArray<string> = []) =>
      Service.listen({ folder: home, env: { ...env, ...more }, flags }),
    /** The process id of its PostgreSQL, which must be running. */
    postgres: until("PostgreSQL", postgresPid(dataDir)),
    /** A connection to the database for the harness. */
    database: Effect.sync(() => {
      const files = fs.realpathSync(path.join(dataDir, "postgres"))
      return { path: path.join(files, ".s.PGSQL.5432"), username: "relayer", database: "postgres" }
    })
  }
})

export const signal = (pids: ReadonlyArray<number>, name: NodeJS.Signals) =>
  Effect.sync(() => {
    for (const pid of pids) if (isProcessAlive(pid)) process.kill(pid, name)
  })

export const gone = (pid: number) =>
  until(
    `the end of ${pid}`,
    Effect.sync(() => (isProcessAlive(pid) ? undefined : true))
  )

/** What a case kills: the service, its PostgreSQL, or both. */
export const victims = ["service", "postgres", "both"] as const
export type Victims = (typeof victims)[number]

/** SIGKILL. It returns when the processes are gone. */
export const kill = Effect.fnUntraced(function* (
  chosen: Victims,
  { service, postgres }: { readonly service: number; readonly postgres: number }
) {
  const pids = { service: [service], postgres: [postgres], both: [service, postgres] }[chosen]
  yield* signal(pids, "SIGKILL")
  for (const pid of pids) yield* gone(pid)
})

const parentOf = (pid: string): number => {
  try {
    return Number(
      fs
        .readFileSync(`/proc/${pid}/stat`, "utf8")
        .replace(/^.*\) \S /, "")
        .split(" ")[0]
    )
  } catch {
    return 0
  }
}

/** The process ids of a server and of its sessions. */
export const family = (pid: number) =>
  Effect.sync(() => [
    pid,
    ...fs
      .readdirSync("/proc")
      .filter((name) => /^\d+$/.test(name) && parentOf(name) === pid)
      .map(Number)
  ])

/** Resident memory of a process, in MiB. */
export const memory = (pid: number): number =>
  Number(/^VmRSS:\s+(\d+)/m.exec(fs.readFileSync(`/proc/${pid}/status`, "utf8"))?.[1]) / 1024

/** The environment that loads a file of this folder into a service before it starts. */
export const preload = (name: string) => ({
  NODE_OPTIONS: `--import=${pathToFileURL(path.join(import.meta.dirname, name)).href}`
})
