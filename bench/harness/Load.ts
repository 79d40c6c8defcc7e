// Sends a load: a separate process sends the requests of a plan in turn, over a number of connections.
import { Effect, Option, Schema } from "effect"
import { execFile, spawnSync } from "node:child_process"
import * as fs from "node:fs"
import * as path from "node:path"
import * as ProcessTree from "./ProcessTree.ts"

export interface Request {
  readonly method: "GET" | "POST"
  /** `@ID@` stands for a random id of the plan. */
  readonly path: string
  /** `@N@` stands for the next number after the plan's `from`, with 9 digits. */
  readonly body?: string
}

export interface Plan {
  readonly requests: ReadonlyArray<Request>
  /** A file with one id per line. */
  readonly ids?: string
  readonly from: number
}

export interface Load {
  readonly url: string
  readonly key: string
  readonly plan: Plan
  readonly connections: number
  readonly seconds: number
  /** A folder for temporary files of the generator. */
  readonly folder: string
}

/** The counts of a generator. */
export const Counted = Schema.Struct({
  requests: Schema.Finite,
  seconds: Schema.Finite,
  bytes: Schema.Finite,
  /** Latency in milliseconds. */
  p50: Schema.Finite,
  p99: Schema.Finite,
  /** Responses with a status other than 2xx. */
  refused: Schema.Finite,
  /** Failed connections, and responses that did not arrive. */
  broken: Schema.Finite
})
export type Counted = typeof Counted.Type

interface Loaded extends Counted {
  /** CPU time of the generator, as a share of one core. */
  readonly share: number
}

export class LoadFailed extends Schema.TaggedError<LoadFailed>()("LoadFailed", { message: Schema.String }) {}

const hasWrk = spawnSync("wrk", ["--version"]).error === undefined

/** `wrk` is preferred, because it uses less CPU time than autocannon. */
export const generator = hasWrk ? "wrk" : "autocannon"

const placeholders: Record<string, string> = { "@ID@": "1", "@N@": "2" }

const partsOf = (text: string) =>
  text
    .split(/(@ID@|@N@)/)
    .filter((part) => part !== "")
    .map((part) => placeholders[part] ?? JSON.stringify(part))

const rawRequest = (key: string, { method, path, body }: Request): string => {
  // `wrk.lua` fills in numbers of 9 digits.
  const length = body?.replaceAll("@N@", "000000000").length
  const content = length === undefined ? [] : ["Content-Type: application/json", `Content-Length: ${length}`]
  const head = [`${method} ${path} HTTP/1.1`, "Host: 127.0.0.1", `Authorization: Bearer ${key}`, ...content]
  return `${head.join("\r\n")}\r\n\r\n${body ?? ""}`
}

/** The arguments of `wrk`. It reads the plan from a Lua file by `wrk.lua`. */
export const wrkArguments = ({ url, key, plan, connections, seconds, folder }: Load): ReadonlyArray<string> => {
  const requests = plan.requests.map((request) => `{${partsOf(rawRequest(key, request)).join(",")}}`)
  const ids = plan.ids === undefined ? "nil" : JSON.stringify(plan.ids)
  const file = path.join(folder, "plan.lua")
  fs.writeFileSync(file, `return { from = ${plan.from}, ids = ${ids}, requests = {${requests.join(",\n")}} }\n`)
  const script = path.join(import.meta.dirname, "wrk.lua")
  return ["-t1", `-c${connections}`, `-d${seconds}s`, "--timeout", "30s", "-s", script, url, "--", file]
}

const autocannon = path.join(import.meta.dirname, "autocannon.ts")

const command = (load: Load): readonly [string, ReadonlyArray<string>] =>
  hasWrk ? ["wrk", wrkArguments(load)] : [process.execPath, [autocannon, JSON.stringify(load)]]

const decode = Schema.decodeUnknownOption(Schema.fromJsonString(Counted))

const execute = (load: Load) =>
  Effect.callback<string, LoadFailed>((resume) => {
    const [file, args] = command(load)
    const child = execFile(file, args, (error, stdout, stderr) =>
      resume(
        error === null
          ? Effect.succeed(stdout)
          : Effect.fail(new LoadFailed({ message: `${stdout}${stderr}${error.message}` }))
      )
    )
    return Effect.sync(() => child.kill())
  })

/** Fails if any request was refused or got no response, because fast failures must not count as speed. */
export const run = Effect.fnUntraced(function* (load: Load) {
  const before = ProcessTree.endedChildrenCpuMs()
  const output = yield* execute(load)
  const counted = decode(/^RESULT (.*)$/m.exec(output)?.[1])
  if (Option.isNone(counted)) return yield* new LoadFailed({ message: `${generator} printed no result: ${output}` })
  const { refused, broken, requests, seconds } = counted.value
  if (refused + broken > 0 || requests === 0) {
    return yield* new LoadFailed({
      message: `${refused} of ${requests} requests were refused and ${broken} got no response`
    })
  }
  const share = (ProcessTree.endedChildrenCpuMs() - before) / 1000 / seconds
  return { ...counted.value, share } satisfies Loaded
})
