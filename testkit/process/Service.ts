// The service as a process with an environment of its own: started, called and stopped.
import { Effect } from "effect"
import type { Scope } from "effect"
import { spawn, spawnSync } from "node:child_process"
import * as path from "node:path"
import type { Readable } from "node:stream"
import type { SystemUser } from "../../src/sql/embedded/Binaries.ts"
import type { Server } from "../Postgres.ts"
import { until } from "./Folder.ts"

const root = path.resolve(import.meta.dirname, "../..")

/** The entry point of a clone, what `npm start` and `npm run dev` run, or the bundle of it that `npm test` has made. */
export const sources = process.env.TEST_BUNDLE ?? path.join(root, "src/main.ts")

/** The sources, or the built command if TEST_MAIN names it. */
export const main = process.env.TEST_MAIN === undefined ? sources : path.resolve(root, process.env.TEST_MAIN)

/** NODE_COMPILE_CACHE of processes: makes a start twice as fast. */
export const compileCache = path.join(root, "node_modules/.cache/effect-relayer")

export const apiKey = "process-test-key-0123456789-0123456789"
export const masterKey = new Uint8Array(32).fill(7)
const encryptionKey = Buffer.from(masterKey).toString("base64")

/** The environment of a service that uses the PostgreSQL of the tests. */
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
  /** The working directory, with `.env`. `DATA_DIR` is its child `data` unless `env` says otherwise. */
  readonly folder: string
  /** Added to PATH, HOME and a free port. Absent: an `API_KEY`. */
  readonly env?: Record<string, string>
  readonly flags?: ReadonlyArray<string>
  /** The entry point of another version. Absent: that of this checkout. */
  readonly main?: string
  readonly user?: SystemUser | undefined
  /** Starts it through a shell, as npm does: signals reach only the shell, which prints the process id of the service. */
  readonly throughShell?: boolean
  /** Runs it with process ids and memory of its own, as in a container. `canIsolate` says whether that is possible. */
  readonly isolated?: boolean
  /** A file descriptor for its standard output. Absent: a pipe that is read, so that `stdout` has the output. */
  readonly output?: number
}

/** The setting with the programs of `testkit/Postgres.ts`, which copy a cluster. With an empty POSTGRES_BIN, the service runs `initdb`. */
export const programs: Record<string, string> =
  process.env.TEST_POSTGRES_BIN === undefined ? {} : { POSTGRES_BIN: process.env.TEST_POSTGRES_BIN }

/** The settings that let the process record its statements as well, if the run of the tests records them: `.ci/statements.mjs`. */
const recording =
  process.env.STATEMENTS === undefined
    ? {}
    : { STATEMENTS: process.env.STATEMENTS, NODE_OPTIONS: process.env.NODE_OPTIONS ?? "" }

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
  /** Makes the call a POST unless `method` is set. A string is sent unchanged. */
  readonly body?: unknown
}

export interface Service {
  readonly pid: number
  /** The output so far. */
  readonly stdout: () => string
  readonly stderr: () => string
  readonly exited: Effect.Effect<Exited>
  readonly kill: (signal: NodeJS.Signals) => Effect.Effect<void>
}

export interface Listening extends Service {
  readonly baseUrl: string
  readonly call: (path: string, call?: Call) => Effect.Effect<Answer>
}

/** Null: another process reads it. */
export const collect = (stream: Readable | null): (() => string) => {
  const chunks: Array<string> = []
  stream?.setEncoding("utf8").on("data", (chunk: string) => chunks.push(chunk))
  return () => chunks.join("")
}

/**
 * Node begins with room for one megabyte of new objects, and collects each time it is full: a seventh of the processor time of a start. This
 * many megabytes are enough for it. Fault cases and benchmarks measure memory, so they have what users have.
 */
const room = process.env.VITEST === undefined ? [] : ["--min-semi-space-size=64", "--max-semi-space-size=64"]

const launch = (
  { folder, env = { API_KEY: apiKey }, flags = [], main: entry = main, ...options }: Options,
  searchPath = ""
): Service => {
  const [program = process.execPath, ...before] = [
    ...(options.isolated === true ? isolation : []),
    ...(options.throughShell === true ? ["sh", "-c", '"$0" "$@" & echo "started $!"; wait'] : []),
    process.execPath
  ]
  const child = spawn(program, [...before, ...room, entry, ...flags], {
    ...options.user,
    cwd: folder,
    stdio: ["ignore", options.output ?? "pipe", "pipe"],
    env: {
      PATH: searchPath,
      HOME: folder,
      NODE_COMPILE_CACHE: compileCache,
      PORT: "0",
      DATA_DIR: path.join(folder, "data"),
      LOG_FORMAT: "json",
      // Health checks would call RPC URLs that the test did not set up.
      WATCH: "off",
      ...recording,
      ...programs,
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

/** Starts the service, which is killed when the scope closes. The folder stops its PostgreSQL. */
export const start = (options: Options) =>
  Effect.acquireRelease(
    Effect.sync(() => launch(options, process.env.PATH)),
    (service) => Effect.andThen(service.kill("SIGKILL"), service.exited)
  )

/** The address in the line that a service prints when it listens. */
export const printedUrl = (stdout: string): string | undefined =>
  /^effect-relayer listens on (http:\S+)/m.exec(stdout)?.[1]

/** Waits for the line with the address and gives the address. */
const listens = (service: Service): Effect.Effect<string> =>
  until(
    "a listening service",
    Effect.sync(() => printedUrl(service.stdout()))
  )

/** Runs a command that ends by itself. It fails if a service listens. */
export const run = Effect.fnUntraced(function* (options: Options) {
  const service = yield* start(options)
  const unwanted = Effect.flatMap(listens(service), () =>
    Effect.die(new Error(`the service listens: ${service.stdout()}`))
  )
  const exited = yield* Effect.raceFirst(service.exited, unwanted)
  return { ...exited, stdout: service.stdout(), stderr: service.stderr() }
}, Effect.scoped)

/** `fetch` with the headers that all calls need. */
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

/** Starts the service and waits until it listens. */
export const listen = Effect.fnUntraced(function* (options: Options): Effect.fn.Return<Listening, never, Scope.Scope> {
  const service = yield* start(options)
  const ended = Effect.flatMap(service.exited, ({ code, signal }) =>
    Effect.die(new Error(`ended with ${signal ?? code}: ${service.stderr()}${service.stdout()}`))
  )
  return at(service, yield* Effect.raceFirst(listens(service), ended))
})

/** The error of a service whose data directory another service uses. */
export const inUse = /^effect-relayer: .+ is in use by effect-relayer process \d+ on \S+: stop it first, .*\n$/

/** Starts a service after each of `delays` (milliseconds) on the same directory, and gives those that listen and those that ended. */
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

/** Sends SIGTERM and waits for the end. */
export const stop = (service: Service) => Effect.andThen(service.kill("SIGTERM"), service.exited)
