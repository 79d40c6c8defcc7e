// A load: requests in turn over a number of connections, sent by a process of its own.
import { Effect, Option, Schema } from "effect"
import { execFile, spawnSync } from "node:child_process"
import * as path from "node:path"
import * as Wrk from "./Wrk.ts"
import * as ProcessTree from "./ProcessTree.ts"

export interface Request {
  readonly method: "GET" | "POST"
  /** `@ID@` is one of the plan's ids, at random. */
  readonly path: string
  /** `@N@` is the next number after the plan's `from`, with 9 digits. */
  readonly body?: string
}

export interface Plan {
  readonly requests: ReadonlyArray<Request>
  /** File with an id on each line. */
  readonly ids?: string
  readonly from: number
}

export interface Load {
  readonly url: string
  readonly key: string
  readonly plan: Plan
  readonly connections: number
  readonly seconds: number
  /** For files of its own. */
  readonly folder: string
}

/** What a generator counts. */
export const Counted = Schema.Struct({
  requests: Schema.Finite,
  seconds: Schema.Finite,
  bytes: Schema.Finite,
  /** Milliseconds. */
  p50: Schema.Finite,
  p99: Schema.Finite,
  /** Answers that are no success. */
  refused: Schema.Finite,
  /** Connections that failed, and answers that did not come. */
  broken: Schema.Finite
})
export type Counted = typeof Counted.Type

interface Loaded extends Counted {
  /** Of one core, by the generator. */
  readonly share: number
}

export class LoadFailed extends Schema.TaggedError<LoadFailed>()("LoadFailed", { message: Schema.String }) {}

const hasWrk = spawnSync("wrk", ["--version"]).error === undefined

/** `wrk` leaves more of a small machine to what is measured. */
export const generator = hasWrk ? "wrk" : "autocannon"

const autocannon = path.join(import.meta.dirname, "autocannon.ts")

const command = (load: Load): readonly [string, ReadonlyArray<string>] =>
  hasWrk ? ["wrk", Wrk.args(load)] : [process.execPath, [autocannon, JSON.stringify(load)]]

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

/** Fails where an answer is no success, or none: a contender that fails fast has won nothing. */
export const run = Effect.fnUntraced(function* (load: Load) {
  const before = ProcessTree.endedChildrenCpuMs()
  const output = yield* execute(load)
  const counted = decode(/^RESULT (.*)$/m.exec(output)?.[1])
  if (Option.isNone(counted)) return yield* new LoadFailed({ message: `${generator} says: ${output}` })
  const { refused, broken, requests, seconds } = counted.value
  if (refused + broken > 0 || requests === 0) {
    return yield* new LoadFailed({
      message: `of ${requests} requests ${refused} were refused and ${broken} got no answer`
    })
  }
  const share = (ProcessTree.endedChildrenCpuMs() - before) / 1000 / seconds
  return { ...counted.value, share } satisfies Loaded
})
