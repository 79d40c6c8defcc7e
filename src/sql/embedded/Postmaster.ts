// One run of the PostgreSQL server process.
import { Deferred, Effect, Exit } from "effect"
import type { Scope } from "effect"
import { spawn, type ChildProcess } from "node:child_process"
import * as path from "node:path"
import { createInterface } from "node:readline"
import { DatabaseError } from "../DatabaseError.ts"
import type { Binaries } from "./Binaries.ts"
import { isAlive } from "./Pid.ts"
import type { SystemUser } from "./SystemUser.ts"

export interface Listen {
  /** Folder of the Unix socket; absent: loopback TCP on `port`. */
  readonly socketFolder: string | undefined
  readonly port: number
}

/** An instance uses up to 13 connections: a pool of 10, LISTEN, and a migration or check. This is room for seven instances. */
const maxConnections = 100

/** Small memory, full durability, nothing on the network but what `listen` says. */
const settings = (binaries: Binaries, listen: Listen): Record<string, string> => ({
  listen_addresses: listen.socketFolder === undefined ? "127.0.0.1" : "",
  port: String(listen.port),
  unix_socket_directories: listen.socketFolder ?? "",
  fsync: "on",
  synchronous_commit: "on",
  full_page_writes: "on",
  shared_buffers: "16MB",
  max_connections: String(maxConnections),
  max_wal_size: "256MB",
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
  // A failed statement's text holds nothing that belongs into a log.
  log_min_error_statement: "panic",
  ...(binaries.major >= 18 ? { io_method: "sync" } : {})
})

export interface Run {
  readonly pid: number
  /** Completes with the exit code, or the signal, that ended the server. */
  readonly ended: Effect.Effect<string>
}

const readyLine = "database system is ready to accept connections"

/** A session that is cut, or comes too early, says FATAL, too: that is no news of the server. */
const ofOneSession = /^(terminating connection due to|the database system is )/

/** Of a process of the server that has crashed: all sessions are cut, and the server recovers by itself. */
const ofACrash = /was terminated by (?:signal|exception)/

/** `LOG:  text` to our levels. */
const relay = (line: string) => {
  const [, severity = "LOG", text = line] = /^([A-Z]+):\s+(.*)$/.exec(line) ?? []
  const message = `postgres: ${text}`
  if (ofOneSession.test(text)) return Effect.logDebug(message)
  if (severity === "FATAL" || severity === "PANIC" || ofACrash.test(text)) return Effect.logError(message)
  return severity === "WARNING" ? Effect.logWarning(message) : Effect.logDebug(message)
}

const stopGrace = 20_000

/** Fast shutdown: sessions are cut, everything acknowledged is on disk. One that is frozen goes on, and ends. */
export const stop = (pid: number): Effect.Effect<void> =>
  Effect.gen(function* () {
    yield* Effect.sync(() => {
      signal(pid, "SIGINT")
      signal(pid, "SIGCONT")
    })
    for (let waited = 0; isAlive(pid); waited += 20) {
      if (waited === stopGrace) {
        yield* Effect.logWarning("postgres does not stop, ending it at once", { pid })
        yield* Effect.sync(() => signal(pid, "SIGQUIT"))
      }
      yield* Effect.sleep(20)
    }
  })

const signal = (pid: number, name: NodeJS.Signals): void => {
  try {
    process.kill(pid, name)
  } catch {
    // It ended by itself, or the system has no such signal.
  }
}

/**
 * Starts the server and waits until it takes connections; stopping it belongs to the scope. It runs in a process group of
 * its own, so that a Ctrl-C in a terminal reaches this process alone, which then drains before it stops the server.
 */
export const start = (
  binaries: Binaries,
  folder: string,
  user: SystemUser | undefined,
  listen: Listen
): Effect.Effect<Run, DatabaseError, Scope.Scope> =>
  Effect.gen(function* () {
    const context = yield* Effect.context<never>()
    const fork = Effect.runForkWith(context)
    const started = yield* Deferred.make<void, DatabaseError>()
    const ended = yield* Deferred.make<string>()
    const lines: Array<string> = []

    const child = yield* Effect.acquireRelease(
      Effect.sync(() => {
        const options = Object.entries(settings(binaries, listen)).flatMap(([name, value]) => [
          "-c",
          `${name}=${value}`
        ])
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

    child.once("error", (cause) =>
      Deferred.doneUnsafe(started, Exit.fail(new DatabaseError({ message: "cannot start PostgreSQL", cause })))
    )
    child.once("exit", (code, signal) => {
      const how = signal ?? `exit code ${code}`
      const reason = lines.findLast((line) => line.startsWith("FATAL:"))?.replace(/^FATAL:\s+/, "") ?? how
      Deferred.doneUnsafe(started, Exit.fail(new DatabaseError({ message: `PostgreSQL does not start: ${reason}` })))
      Deferred.doneUnsafe(ended, Exit.succeed(how))
    })
    createInterface({ input: child.stderr }).on("line", (line) => {
      if (lines.push(line) > 50) lines.shift()
      fork(relay(line))
      if (line.includes(readyLine)) Deferred.doneUnsafe(started, Exit.void)
    })

    yield* Deferred.await(started)
    return { pid: child.pid ?? 0, ended: Deferred.await(ended) }
  })

const hasEnded = (child: ChildProcess): boolean => child.exitCode !== null || child.signalCode !== null
