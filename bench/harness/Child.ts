// Starts a server process, and stops it when the scope closes.
import { Effect, Schedule, Schema } from "effect"
import { spawn } from "node:child_process"
import * as fs from "node:fs"
import { freePort } from "../../testkit/process/Ports.ts"

export class ChildFailed extends Schema.TaggedError<ChildFailed>()("ChildFailed", { message: Schema.String }) {}

export interface Options {
  readonly name: string
  readonly args: ReadonlyArray<string>
  readonly cwd?: string
  readonly env: Readonly<Record<string, string>>
  /** The file that its output is written to. */
  readonly log: string
}

interface Child {
  readonly pid: number
  readonly url: string
  /** Milliseconds from its start to the first 200. */
  readonly startMs: number
}

const stopGrace = 15_000

const stop = (child: ReturnType<typeof spawn>) =>
  Effect.callback<void>((resume) => {
    if (child.exitCode !== null || child.signalCode !== null) return resume(Effect.void)
    const timer = setTimeout(() => child.kill("SIGKILL"), stopGrace)
    child.once("exit", () => {
      clearTimeout(timer)
      resume(Effect.void)
    })
    child.kill("SIGTERM")
  })

/** Starts Node with `args` and a free `PORT`, and waits until it answers `path` with 200. */
export const start = Effect.fnUntraced(function* ({ name, args, cwd, env, log }: Options, path: string, key: string) {
  const port = yield* freePort
  const url = `http://127.0.0.1:${port}`
  const started = performance.now()
  const child = yield* Effect.acquireRelease(
    Effect.sync(() => {
      const output = fs.openSync(log, "a")
      const child = spawn(process.execPath, args, {
        cwd,
        stdio: ["ignore", output, output],
        env: { PATH: process.env.PATH, ...env, PORT: String(port) }
      })
      fs.closeSync(output)
      return child
    }),
    stop
  )
  const ended = () => child.exitCode !== null || child.signalCode !== null
  const lastLines = () => fs.readFileSync(log, "utf8").trim().split("\n").slice(-5).join("\n")
  yield* Effect.tryPromise({
    try: async () => {
      const response = await fetch(`${url}${path}`, {
        headers: { authorization: `Bearer ${key}` },
        // A request that arrives while the server starts may never be answered.
        signal: AbortSignal.timeout(2000)
      })
      await response.arrayBuffer()
      if (response.status !== 200) throw new Error(`status ${response.status}`)
    },
    catch: (error) => new ChildFailed({ message: `${name} does not serve: ${String(error)}\n${lastLines()}` })
  }).pipe(
    Effect.retry({
      schedule: Schedule.spaced("5 millis"),
      while: () => !ended() && performance.now() < started + 60_000
    })
  )
  return { pid: child.pid ?? 0, url, startMs: performance.now() - started } satisfies Child
})
