// A program that runs beside the service until the scope closes, and what a local network gives to `effect-relayer dev`.
import { Duration, Effect, Schema } from "effect"
import type { Redacted, Scope } from "effect"
import { FetchHttpClient, HttpClient, HttpClientRequest } from "effect/http"
import { execFile, spawn } from "node:child_process"
import { once } from "node:events"
import { existsSync } from "node:fs"
import * as fs from "node:fs/promises"
import * as path from "node:path"
import { createInterface } from "node:readline"
import { fileURLToPath } from "node:url"
import { promisify } from "node:util"
import type { NetworkType } from "../../domain/network/Network.ts"
import { isProcessAlive } from "../../sql/embedded/Postmaster.ts"

// What a local network gives to `effect-relayer dev`: a chain on this machine, money for an account, and a first transaction.

/** The name of each local network. */
export const networkName = "dev"

/** The message is one line. */
export class DevelopmentFailed extends Schema.TaggedError<DevelopmentFailed>()("DevelopmentFailed", {
  message: Schema.String
}) {}

/** The program of a chain is not installed. The message says what it is for, and what to install. */
export class ProgramMissing extends Schema.TaggedError<ProgramMissing>()("ProgramMissing", {
  message: Schema.String
}) {}

type Json = Readonly<Record<string, unknown>>

/** A chain that runs until the scope closes. */
export interface LocalChain {
  /** Program, version, identity of the chain and URL, for people. */
  readonly description: string
  /** The only URL that the service may reach for it. It is on loopback. */
  readonly url: string
  /** The port that tools and the documents expect. If another program uses it, `url` has a free port instead. */
  readonly usualPort: number
  /** Gives the account its first balance, unless it has one. */
  readonly fund: (address: string) => Effect.Effect<void, DevelopmentFailed>
  /** Fails when the chain ends by itself. */
  readonly ended: Effect.Effect<never, DevelopmentFailed>
}

/** Starts the chain, whose state is in `folder`, as an earlier start has left it. */
type StartChain = (folder: string) => Effect.Effect<LocalChain, DevelopmentFailed, Scope.Scope>

export interface DevelopmentNetwork {
  /** Also names the signer and the relayer (`dev-evm`), and the folder of the chain in the data directory. */
  readonly networkType: NetworkType
  /** Fields of the network besides its type, its name and its URL. */
  readonly network: Json
  /** Policies of the relayer. Absent: the defaults. */
  readonly policies?: Json
  /** The body of a send from the relayer at this address. The user can send it again. */
  readonly transaction: (relayer: string) => Json
  /** What `transaction` does, such as "0.001 ETH to 0x7099…". */
  readonly effect: string
  /** Finds the program of the chain. */
  readonly find: Effect.Effect<StartChain, ProgramMissing>
}

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
  for (let waited = 0; isProcessAlive(pid); waited += pollInterval) {
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

/** Starts a script of the clone that serves a chain. If another program has the usual port, the script listens on a free one. */
export const startScript = Effect.fn("LocalProcess.startScript")(function* ({
  args,
  folder,
  program,
  usualPort,
  ...options
}: Script) {
  // It would still have the port, and write to the file.
  yield* stopEarlier(path.basename(process.execPath), folder)
  return yield* start({
    ...options,
    program: process.execPath,
    args: [program, "--port", String(usualPort), ...args, "--data", folder]
  })
})

// Calls of the local chains and of the service's own API, as a user makes them with curl.

const failed = (what: string) => () => new DevelopmentFailed({ message: `${what} gives no usable answer` })

const execute = <S extends Schema.Top>(what: string, request: HttpClientRequest.HttpClientRequest, answer: S) =>
  Effect.flatMap(HttpClient.HttpClient, (client) => client.execute(request)).pipe(
    Effect.flatMap((response) =>
      Effect.flatMap(response.json, Schema.decodeUnknownEffect(answer)).pipe(
        Effect.map((body) => ({ status: response.status, body }))
      )
    ),
    Effect.mapError(failed(what)),
    Effect.provide(FetchHttpClient.layer)
  )

const RpcAnswer = Schema.Struct({
  result: Schema.optionalKey(Schema.Unknown),
  error: Schema.optionalKey(Schema.Struct({ message: Schema.String }))
})

/** One JSON-RPC call. */
export const callRpc = Effect.fnUntraced(function* (url: string, method: string, params: ReadonlyArray<unknown>) {
  const request = HttpClientRequest.bodyJsonUnsafe(HttpClientRequest.post(url), {
    jsonrpc: "2.0",
    id: 1,
    method,
    params
  })
  const { body } = yield* execute(`${method} of ${url}`, request, RpcAnswer)
  if (body.error === undefined) return body.result
  return yield* new DevelopmentFailed({ message: `${url} refuses ${method}: ${body.error.message}` })
})

/** Posts JSON to a URL of a local chain that is no JSON-RPC, and ignores the answer. */
export const postJson = (url: string, body: object) =>
  Effect.asVoid(
    execute(`POST ${url}`, HttpClientRequest.bodyJsonUnsafe(HttpClientRequest.post(url), body), Schema.Unknown)
  )

const Envelope = Schema.Struct({
  success: Schema.Boolean,
  data: Schema.Unknown,
  message: Schema.optionalKey(Schema.String),
  error: Schema.optionalKey(Schema.String)
})

interface Answer {
  readonly status: number
  readonly data: unknown
  /** Why the request was refused. */
  readonly refusal: string | undefined
}

export interface LocalApi {
  /** A refused request is an answer, not a failure. */
  readonly call: (
    method: "GET" | "POST" | "PATCH",
    path: string,
    body?: object
  ) => Effect.Effect<Answer, DevelopmentFailed>
  /** A refused request is a failure. */
  readonly data: <S extends Schema.ConstraintDecoder<unknown>>(
    method: "GET" | "POST" | "PATCH",
    path: string,
    schema: S,
    body?: object
  ) => Effect.Effect<S["Type"], DevelopmentFailed>
}

export const localApi = (baseUrl: string, key: Redacted.Redacted): LocalApi => {
  const call: LocalApi["call"] = Effect.fnUntraced(function* (method, path, body) {
    const bare = HttpClientRequest.bearerToken(HttpClientRequest.make(method)(`${baseUrl}/api/v1${path}`), key)
    const request = body === undefined ? bare : HttpClientRequest.bodyJsonUnsafe(bare, body)
    const { status, body: answer } = yield* execute(`${method} ${path}`, request, Envelope)
    const refusal = answer.success ? undefined : [answer.message, answer.error].filter(Boolean).join(": ")
    return { status, data: answer.data, refusal }
  })
  return {
    call,
    data: Effect.fnUntraced(function* (method, path, schema, body) {
      const { data, refusal } = yield* call(method, path, body)
      if (refusal !== undefined) {
        return yield* new DevelopmentFailed({ message: `${method} ${path} is refused: ${refusal}` })
      }
      return yield* Effect.mapError(Schema.decodeUnknownEffect(schema)(data), failed(`${method} ${path}`))
    })
  }
}
