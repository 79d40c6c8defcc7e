// The command as a process of its own: started with nothing of our environment, watched, asked, and ended.
import { Effect } from "effect"
import type { Scope } from "effect"
import { spawn, spawnSync } from "node:child_process"
import * as path from "node:path"
import type { Readable } from "node:stream"
import type { SystemUser } from "../../src/sql/embedded/SystemUser.ts"
import type { Server } from "../Postgres.ts"
import { until } from "./Folder.ts"

export const main = path.resolve(import.meta.dirname, "../../src/main.ts")

/** Makes starts twice as fast. */
const compileCache = path.resolve(import.meta.dirname, "../../node_modules/.cache/effect-relayer")

export const apiKey = "process-test-key-0123456789-0123456789"
const encryptionKey = Buffer.alloc(32, 7).toString("base64")

/** What a service on a PostgreSQL of somebody else's is given. */
export const onServer = (server: Server, database: string): Record<string, string> => {
  const url = new URL("path" in server ? "postgres://localhost" : server.url)
  if ("path" in server) {
    url.username = server.username
    url.searchParams.set("host", path.dirname(server.path))
  }
  url.pathname = `/${database}`
  return { API_KEY: apiKey, DATABASE_URL: url.href, STORAGE_ENCRYPTION_KEY: encryptionKey }
}

export interface Options {
  /** Where it runs, and finds its `.env`; `DATA_DIR` is `data` in there unless told. */
  readonly folder: string
  /** Beside PATH, HOME and a free port. Absent: an `API_KEY`. */
  readonly env?: Record<string, string>
  readonly flags?: ReadonlyArray<string>
  readonly user?: SystemUser | undefined
  /** Started by a shell, as npm does it: signals reach the shell alone. It prints the id of the service. */
  readonly throughShell?: boolean
  /** As in a container, with process ids and memory of its own; `canIsolate` says whether that is possible. */
  readonly isolated?: boolean
}

const isolation = ["unshare", "--pid", "--ipc", "--fork", "--kill-child", "--mount-proc"]

export const canIsolate = spawnSync("sh", ["-c", `${isolation.join(" ")} true`]).status === 0

export interface Exited {
  readonly code: number | null
  readonly signal: NodeJS.Signals | null
}

export interface Answer {
  readonly status: number
  readonly headers: Headers
  readonly text: string
}

export interface Call {
  readonly method?: string
  readonly key?: string
  readonly headers?: Record<string, string>
  /** Makes it a POST, unless told. A string is sent as it is. */
  readonly body?: unknown
}

export interface Service {
  readonly pid: number
  /** What it has written so far. */
  readonly stdout: () => string
  readonly stderr: () => string
  readonly exited: Effect.Effect<Exited>
  readonly kill: (signal: NodeJS.Signals) => Effect.Effect<void>
}

export interface Listening extends Service {
  readonly baseUrl: string
  readonly call: (path: string, call?: Call) => Effect.Effect<Answer>
}

export const collect = (stream: Readable): (() => string) => {
  const chunks: Array<string> = []
  stream.setEncoding("utf8").on("data", (chunk: string) => chunks.push(chunk))
  return () => chunks.join("")
}

const launch = ({ folder, env = { API_KEY: apiKey }, flags = [], ...options }: Options, searchPath = ""): Service => {
  const [program = process.execPath, ...before] = [
    ...(options.isolated === true ? isolation : []),
    ...(options.throughShell === true ? ["sh", "-c", '"$0" "$@" & echo "started $!"; wait'] : []),
    process.execPath
  ]
  const child = spawn(program, [...before, main, ...flags], {
    ...options.user,
    cwd: folder,
    stdio: ["ignore", "pipe", "pipe"],
    env: {
      PATH: searchPath,
      HOME: folder,
      NODE_COMPILE_CACHE: compileCache,
      PORT: "0",
      DATA_DIR: path.join(folder, "data"),
      LOG_FORMAT: "json",
      // Nothing is called that a test has not set up.
      WATCH: "off",
      ...env
    }
  })
  const exited = new Promise<Exited>((resolve, reject) => {
    child.once("error", reject)
    child.once("close", (code, signal) => resolve({ code, signal }))
  })
  return {
    pid: child.pid ?? 0,
    stdout: collect(child.stdout),
    stderr: collect(child.stderr),
    exited: Effect.promise(() => exited),
    kill: (signal) => Effect.sync(() => void child.kill(signal))
  }
}

/** Ends with the scope, at once; what its PostgreSQL does is the folder's business. */
export const start = (options: Options) =>
  Effect.acquireRelease(
    Effect.sync(() => launch(options, process.env.PATH)),
    (service) => Effect.andThen(service.kill("SIGKILL"), service.exited)
  )

/** The address in the line that says where it listens, as soon as it is there. */
const listens = (service: Service): Effect.Effect<string> =>
  until(
    "a listening service",
    Effect.sync(() => /^effect-relayer listens on (http:\S+)/m.exec(service.stdout())?.[1])
  )

/** Runs to its end, which comes by itself, before it ever listens. */
export const run = Effect.fnUntraced(function* (options: Options) {
  const service = yield* start(options)
  const unwanted = Effect.flatMap(listens(service), () => Effect.die(new Error(`it listens: ${service.stdout()}`)))
  const exited = yield* Effect.raceFirst(service.exited, unwanted)
  return { ...exited, stdout: service.stdout(), stderr: service.stderr() }
}, Effect.scoped)

/** `fetch` with the fields that all calls share. */
export const call = (url: string, { method, key = apiKey, headers, body }: Call = {}): Effect.Effect<Answer> =>
  Effect.promise(async () => {
    const response = await fetch(url, {
      method: method ?? (body === undefined ? "GET" : "POST"),
      headers: {
        authorization: `Bearer ${key}`,
        ...(body === undefined ? {} : { "content-type": "application/json" }),
        ...headers
      },
      ...(body === undefined ? {} : { body: typeof body === "string" ? body : JSON.stringify(body) })
    })
    return { status: response.status, headers: response.headers, text: await response.text() }
  })

const at = (service: Service, baseUrl: string): Listening => ({
  ...service,
  baseUrl,
  call: (path, options) => call(`${baseUrl}${path}`, options)
})

/** Starts it, and waits until it listens. */
export const listen = Effect.fnUntraced(function* (options: Options): Effect.fn.Return<Listening, never, Scope.Scope> {
  const service = yield* start(options)
  const ended = Effect.flatMap(service.exited, ({ code, signal }) =>
    Effect.die(new Error(`ended with ${signal ?? code}: ${service.stderr()}${service.stdout()}`))
  )
  return at(service, yield* Effect.raceFirst(listens(service), ended))
})

/** What a service says that finds another one on its directory. */
export const inUse = /^effect-relayer: .+ is in use by effect-relayer process \d+ on \S+: stop it first, .*\n$/

/** One for each of `delays`, in milliseconds, on the same directory: who listens, and who has ended by itself. */
export const contest = Effect.fnUntraced(function* (
  options: Options,
  delays: ReadonlyArray<number>
): Effect.fn.Return<
  {
    readonly listening: ReadonlyArray<Listening>
    readonly refused: ReadonlyArray<Exited & { readonly stderr: string }>
  },
  never,
  Scope.Scope
> {
  const outcomes = yield* Effect.forEach(
    delays,
    Effect.fnUntraced(function* (delay) {
      yield* Effect.sleep(delay)
      const service = yield* start(options)
      const listening = Effect.map(listens(service), (url) => at(service, url))
      const refused = Effect.map(service.exited, (exited) => ({ ...exited, stderr: service.stderr() }))
      return yield* Effect.raceFirst(listening, refused)
    }),
    { concurrency: "unbounded" }
  )
  return {
    listening: outcomes.filter((outcome) => "baseUrl" in outcome),
    refused: outcomes.filter((outcome) => "code" in outcome)
  }
})

/** Asks it to stop and waits until it has. */
export const stop = (service: Service) => Effect.andThen(service.kill("SIGTERM"), service.exited)
