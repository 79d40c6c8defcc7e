// A program that runs beside the service until the scope closes. One that outlived a killed service is found and stopped.
import { Duration, Effect } from "effect"
import type { Scope } from "effect"
import { execFile, spawn } from "node:child_process"
import { once } from "node:events"
import { existsSync } from "node:fs"
import * as fs from "node:fs/promises"
import * as path from "node:path"
import { createInterface } from "node:readline"
import { fileURLToPath } from "node:url"
import { promisify } from "node:util"
import * as Pid from "../../sql/embedded/Pid.ts"
import { DevelopmentFailed, ProgramMissing } from "./DevelopmentNetwork.ts"

export interface Options {
  /** The name of the program, for people. */
  readonly name: string
  readonly program: string
  readonly args: ReadonlyArray<string>
  /** The line that the program prints when it is ready. */
  readonly ready: RegExp
}

export interface LocalProcess {
  /** The match of `ready`. */
  readonly ready: RegExpExecArray
  /** Fails when the process ends by itself. */
  readonly ended: Effect.Effect<never, DevelopmentFailed>
}

interface Running {
  readonly pid: number
  readonly command: string
  readonly args: ReadonlyArray<string>
}

const fromProc = async (): Promise<ReadonlyArray<Running>> => {
  const pids = (await fs.readdir("/proc")).filter((name) => /^\d+$/.test(name))
  const found = pids.map(async (pid) => {
    // The process may have ended meanwhile.
    const text = await fs.readFile(`/proc/${pid}/cmdline`, "utf8").catch(() => "")
    const [command = "", ...args] = text.split("\0")
    return { pid: Number(pid), command, args }
  })
  return Promise.all(found)
}

/** Other systems show arguments with blanks between them. A path with blanks is not found. */
const fromPs = async (): Promise<ReadonlyArray<Running>> => {
  const { stdout } = await promisify(execFile)("ps", ["-A", "-ww", "-o", "pid=,command="])
  return stdout.split("\n").map((line) => {
    const [pid, command = "", ...args] = line.trim().split(/\s+/)
    return { pid: Number(pid), command, args }
  })
}

/** Windows has neither. A program that outlived its service stays there until the user ends it. */
const running = process.platform === "linux" ? fromProc : fromPs

const signal = (pid: number, name: NodeJS.Signals): void => {
  try {
    process.kill(pid, name)
  } catch {
    // The process has ended.
  }
}

/** Milliseconds for a program to end after SIGTERM. It gets SIGKILL then. */
const stopGrace = 5000

const pollInterval = 20

const stop = Effect.fnUntraced(function* (pid: number) {
  yield* Effect.sync(() => signal(pid, "SIGTERM"))
  for (let waited = 0; Pid.isAlive(pid); waited += pollInterval) {
    if (waited === stopGrace) yield* Effect.sync(() => signal(pid, "SIGKILL"))
    yield* Effect.sleep(pollInterval)
  }
})

/** Stops the processes of a program that have the argument `mark`, which no process of others has, such as a folder. */
export const stopEarlier = Effect.fn("LocalProcess.stopEarlier")(function* (name: string, mark: string) {
  const all = yield* Effect.promise(() => running().catch((): ReadonlyArray<Running> => []))
  const earlier = all.filter(({ args, command }) => path.basename(command) === name && args.includes(mark))
  for (const { pid } of earlier) yield* stop(pid)
})

/** Lines of a program that does not start, for the error. */
const keptLines = 5

const launch = ({ args, program }: Options) =>
  Effect.acquireRelease(
    Effect.sync(() => {
      // A process group of its own: Ctrl+C in a terminal reaches only this process, which drains before it stops the program.
      const child = spawn(program, [...args], { detached: true, stdio: ["ignore", "pipe", "pipe"] })
      const closed = once(child, "close").then(
        () => child.signalCode ?? `exit code ${child.exitCode}`,
        (cause: unknown) => String(cause)
      )
      return { child, closed }
    }),
    ({ child, closed }) =>
      Effect.andThen(
        child.pid === undefined ? Effect.void : stop(child.pid),
        Effect.promise(() => closed)
      )
  )

/** The folder of the clone that this file is part of. In a package, it has no test code. */
export const rootHere = fileURLToPath(new URL("../../..", import.meta.url))

/** Finds a script of the clone `root`. `file`: relative to it. `missing`: the error if it is a package. */
export const inClone =
  ({ file, missing }: { readonly file: string; readonly missing: string }) =>
  (root: string) =>
    Effect.suspend(() => {
      const script = path.join(root, file)
      return existsSync(script) ? Effect.succeed(script) : new ProgramMissing({ message: missing })
    })

/** Starts the program and waits until it is ready. */
export const start = Effect.fn("LocalProcess.start")(function* (
  options: Options
): Effect.fn.Return<LocalProcess, DevelopmentFailed, Scope.Scope> {
  const { child, closed } = yield* launch(options)
  const lines: Array<string> = []
  const isReady = new Promise<RegExpExecArray>((resolve) => {
    for (const input of [child.stdout, child.stderr]) {
      createInterface({ input }).on("line", (line) => {
        if (lines.push(line) > keptLines) lines.shift()
        const found = options.ready.exec(line)
        if (found !== null) resolve(found)
      })
    }
  })
  const failed = (message: string) => new DevelopmentFailed({ message: `${options.name} ${message}` })
  const ready = yield* Effect.raceFirst(
    Effect.promise(() => isReady),
    Effect.flatMap(
      Effect.promise(() => closed),
      (how) =>
        failed(
          `does not start: ${lines.join(" ").trim() || how}. If its state is unusable, --reset begins with a new one`
        )
    )
  )
  return {
    ready,
    ended: Effect.flatMap(
      Effect.promise(() => closed),
      (how) => failed(`ended with ${how}: start effect-relayer dev again`)
    )
  }
})

/** How long a failed call waits for the end of the program, which is the cause then. A busy machine learns of an end late. */
const causeTimeout = Duration.seconds(5)

/** Fails with the end of the program if it ends within `causeTimeout`, and otherwise with the failure of the call to it. */
export const causeOf = (failure: DevelopmentFailed, ended: LocalProcess["ended"]) =>
  Effect.raceFirst(ended, Effect.delay(Effect.fail(failure), causeTimeout))

interface Script extends Options {
  /** Keeps the state of the chain. */
  readonly folder: string
  readonly usualPort: number
}

/** Starts a script of the clone that serves a chain. Another program may have the usual port, so a free one follows. */
export const startScript = Effect.fn("LocalProcess.startScript")(function* ({
  args,
  folder,
  program,
  usualPort,
  ...options
}: Script) {
  // It would still have the port, and write to the file.
  yield* stopEarlier(path.basename(process.execPath), folder)
  const startAt = (port: number) =>
    start({
      ...options,
      program: process.execPath,
      args: [program, "--port", String(port), ...args, "--data", folder]
    })
  return yield* Effect.catch(startAt(usualPort), () => startAt(0))
})
