// Runs the PostgreSQL server process once, from its start to its end, and finds out whether one is running.
import { Deferred, Effect, Exit, FiberSet } from "effect"
import type { Scope } from "effect"
import { spawn } from "node:child_process"
import type { ChildProcess } from "node:child_process"
import * as fs from "node:fs"
import * as path from "node:path"
import { createInterface } from "node:readline"
import { DatabaseError } from "../Connection.ts"
import type { Binaries, SystemUser } from "./Binaries.ts"

// Finds out whether a process, and the PostgreSQL server of a data folder, is running.

/** A zombie has ended but keeps its id until its parent collects it. */
const isZombie = (pid: number): boolean => {
  try {
    return / Z /.test(fs.readFileSync(`/proc/${pid}/stat`, "utf8").replace(/^.*\)/, ""))
  } catch {
    return false
  }
}

export const isProcessAlive = (pid: number): boolean => {
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
  if (!Number.isInteger(pid) || pid <= 0 || !isProcessAlive(pid)) return undefined
  return isPostgres(pid) && !isElsewhere(pid, folder) ? pid : undefined
}

const lockFile = (folder: string) => path.join(folder, "postmaster.pid")

/** Whether a server runs, starts, or was killed here. */
export const isFolderClaimed = (folder: string): boolean => fs.existsSync(lockFile(folder))

const readFile = (file: string): string | undefined => {
  try {
    return fs.readFileSync(file, "utf8")
  } catch {
    return undefined
  }
}

/** The process id of the server that runs on these files. */
export const runningServer = (folder: string): number | undefined =>
  living(folder, readFile(lockFile(folder))?.split("\n")[0])

/** Milliseconds. A younger lock file that is empty belongs to a server that is about to fill it. */
const filledWithin = 5000

const isStale = (folder: string, file: string, now: number): boolean => {
  const text = readFile(file)
  if (text === "") return now - (fs.statSync(file, { throwIfNoEntry: false })?.mtimeMs ?? now) > filledWithin
  return text !== undefined && living(folder, text.split("\n")[0]) === undefined
}

/** Removes the lock files of a server that has ended: PostgreSQL would mistake any process with the same id for that server. */
export const removeStaleFiles = (folder: string, now: number): void => {
  for (const file of [lockFile(folder), path.join(folder, ".s.PGSQL.5432.lock")]) {
    if (isStale(folder, file, now)) fs.rmSync(file, { force: true })
  }
}

export interface Listen {
  /** The folder of the Unix socket. Absent: TCP on loopback. */
  readonly socketFolder: string | undefined
  readonly port: number
  /** Connections at the same time. Absent: `defaultConnections`. */
  readonly maxConnections?: number
}

/** An instance uses up to 13 connections: a pool of 10, LISTEN, and a migration or check. This is room for seven instances. */
const defaultConnections = 100

/**
 * PostgreSQL keeps the plans that it made while a table had a page until autovacuum has analyzed the grown table. In a new database that
 * sends at full speed, they took 5.1 ms of processor time for each transaction instead of 1.4. PostgreSQL's default is a minute.
 */
const autovacuumNap = "10s"

/** Little memory, full durability, and no network but loopback. */
const settings = (binaries: Binaries, listen: Listen): Record<string, string> => ({
  listen_addresses: listen.socketFolder === undefined ? "127.0.0.1" : "",
  port: String(listen.port),
  unix_socket_directories: listen.socketFolder ?? "",
  fsync: "on",
  synchronous_commit: "on",
  full_page_writes: "on",
  shared_buffers: "16MB",
  max_connections: String(listen.maxConnections ?? defaultConnections),
  autovacuum_naptime: autovacuumNap,
  max_wal_size: "256MB",
  // PostgreSQL logs a whole page when the page first changes after a checkpoint. With pglz, the only method of these binaries, an
  // insertion into an index of a million hashes then takes 190 µs, and 8 µs without it.
  wal_compression: "off",
  wal_level: "minimal",
  max_wal_senders: "0",
  max_worker_processes: "2",
  max_parallel_workers: "0",
  jit: "off",
  huge_pages: "off",
  dynamic_shared_memory_type: process.platform === "win32" ? "windows" : "posix",
  log_destination: "stderr",
  logging_collector: "off",
  log_line_prefix: "",
  log_min_messages: "log",
  // Statements may contain values that must not be logged.
  log_min_error_statement: "panic",
  ...(binaries.major >= 18 ? { io_method: "sync" } : {})
})

export interface Run {
  readonly pid: number
  /** Completes with the exit code, or the signal, that ended the server. */
  readonly ended: Effect.Effect<string>
}

const readyLine = "database system is ready to accept connections"

/** FATAL lines about one session, which is cut or comes too early. They say nothing about the server. */
const aboutOneSession = /^(terminating connection due to|the database system is )/

/** A process of the server crashed. All sessions are cut, and the server recovers by itself. */
const aboutACrash = /was terminated by (?:signal|exception)/

type Level = "Debug" | "Warn" | "Error"

const levelOf = (severity: string, text: string): Level => {
  if (aboutOneSession.test(text)) return "Debug"
  if (severity === "FATAL" || severity === "PANIC" || aboutACrash.test(text)) return "Error"
  return severity === "WARNING" ? "Warn" : "Debug"
}

/** Logs a line of the server, which has the form `LOG:  text`. */
const relay = (line: string) => {
  const [, severity = "LOG", text = line] = /^([A-Z]+):\s+(.*)$/.exec(line) ?? []
  return Effect.annotateLogs(Effect.logWithLevel(levelOf(severity, text))("logged by PostgreSQL"), { text })
}

/** Milliseconds until an immediate shutdown follows. */
const stopGrace = 20_000

const pollInterval = 20

/**
 * A fast shutdown: sessions are cut, and everything acknowledged is on disk. SIGCONT wakes a server that is frozen, so that it
 * handles the signal.
 */
export const stop = (pid: number): Effect.Effect<void> =>
  Effect.gen(function* () {
    yield* Effect.sync(() => {
      signal(pid, "SIGINT")
      signal(pid, "SIGCONT")
    })
    for (let waited = 0; isProcessAlive(pid); waited += pollInterval) {
      if (waited === stopGrace) {
        yield* Effect.annotateLogs(Effect.logWarning("the embedded PostgreSQL does not stop and is ended at once"), {
          pid
        })
        yield* Effect.sync(() => signal(pid, "SIGQUIT"))
      }
      yield* Effect.sleep(pollInterval)
    }
  })

const signal = (pid: number, name: NodeJS.Signals): void => {
  try {
    process.kill(pid, name)
  } catch {
    // The process has ended, or the system does not have the signal.
  }
}

/** Seconds until an immediate shutdown follows: `stopGrace`. */
const watchGrace = stopGrace / 1000

/**
 * Stops the server `$1`, as `stop` does, when the pipe at its input closes without a line. The system closes it if the service ends in any
 * way, also by SIGKILL; a line says that the server has ended.
 */
const watchScript = `
  read -r ended && exit
  kill -s INT "$1" && kill -s CONT "$1"
  second=0
  while [ "$second" -lt ${watchGrace} ]; do kill -0 "$1" && sleep 1 || exit; second=$((second + 1)); done
  kill -s QUIT "$1"`

/** Without a watcher, a server outlives a service that is killed, and the next start on its files stops it. Windows has no shell for it. */
const watch = (pid: number | undefined, user: SystemUser | undefined, onError: (cause: Error) => void) => {
  if (pid === undefined || process.platform === "win32") return () => undefined
  // The watcher has its own process group, so that what ends the service does not reach it.
  const watcher = spawn("sh", ["-c", watchScript, "effect-relayer-watch", String(pid)], {
    ...user,
    cwd: "/",
    detached: true,
    stdio: ["pipe", "ignore", "ignore"],
    env: { PATH: "/usr/bin:/bin:/run/current-system/sw/bin" }
  })
  watcher.once("error", onError)
  // The watcher may be gone when the server has ended.
  watcher.stdin.on("error", () => undefined)
  return () => void watcher.stdin.end("ended\n")
}

/** A session of a server that was killed still uses its shared memory. */
const earlierSessions = "pre-existing shared memory block"

/** Whether a start failed because sessions of an earlier server have not ended yet. */
export const isBeforeSessionsEnded = ({ message }: DatabaseError): boolean => message.includes(earlierSessions)

/** The number of lines of the server that are kept for the error of a start that fails. */
const keptLines = 50

const hasEnded = (child: ChildProcess): boolean => child.exitCode !== null || child.signalCode !== null

const launch = (binaries: Binaries, folder: string, user: SystemUser | undefined, listen: Listen) =>
  Effect.acquireRelease(
    Effect.sync(() => {
      const options = Object.entries(settings(binaries, listen)).flatMap(([name, value]) => ["-c", `${name}=${value}`])
      return spawn(binaries.postgres, ["-D", folder, ...options], {
        ...user,
        cwd: folder,
        detached: true,
        stdio: ["ignore", "ignore", "pipe"],
        env: { LC_ALL: "C", PATH: path.dirname(binaries.postgres) }
      })
    }),
    (child) => (child.pid === undefined || hasEnded(child) ? Effect.void : stop(child.pid))
  )

/**
 * Starts the server and waits until it accepts connections. Closing the scope stops the server. The server has its own process group,
 * so that Ctrl-C in a terminal reaches only this process, which drains before it stops the server.
 */
export const start = (
  binaries: Binaries,
  folder: string,
  user: SystemUser | undefined,
  listen: Listen
): Effect.Effect<Run, DatabaseError, Scope.Scope> =>
  Effect.gen(function* () {
    const fork = yield* FiberSet.makeRuntime<never>()
    const started = yield* Deferred.make<void, DatabaseError>()
    const ended = yield* Deferred.make<string>()
    const lines: Array<string> = []

    const child = yield* launch(binaries, folder, user, listen)
    child.once("error", (cause) =>
      Deferred.doneUnsafe(started, Exit.fail(DatabaseError.system("cannot start PostgreSQL")(cause)))
    )
    const end = watch(child.pid, user, (cause) =>
      fork(Effect.logWarning("cannot watch over the embedded PostgreSQL: a killed service leaves it running", cause))
    )
    child.once("exit", (code, signal) => {
      end()
      const how = signal ?? `exit code ${code}`
      const reason = lines.findLast((line) => line.startsWith("FATAL:"))?.replace(/^FATAL:\s+/, "") ?? how
      Deferred.doneUnsafe(started, Exit.fail(DatabaseError.of("SystemFailure", `PostgreSQL does not start: ${reason}`)))
      Deferred.doneUnsafe(ended, Exit.succeed(how))
    })
    createInterface({ input: child.stderr }).on("line", (line) => {
      if (lines.push(line) > keptLines) lines.shift()
      fork(relay(line))
      if (line.includes(readyLine)) Deferred.doneUnsafe(started, Exit.void)
    })

    yield* Deferred.await(started)
    return { pid: child.pid ?? 0, ended: Deferred.await(ended) }
  })
