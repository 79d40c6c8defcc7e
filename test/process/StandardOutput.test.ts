// The log of a process on pipes that nobody reads, and its last lines at an end. Processes run by the clock of the machine.
import { assert, describe, it } from "@effect/vitest"
import { Effect, Schedule } from "effect"
import { spawn, spawnSync } from "node:child_process"
import * as fs from "node:fs"
import * as path from "node:path"
import { freePort } from "../../testkit/process/Ports.ts"
import { folder } from "../../testkit/process/Folder.ts"
import * as Service from "../../testkit/process/Service.ts"

/** The two ends of a pipe of the kernel, which takes 65,536 bytes. */
const makePipe = Effect.fnUntraced(function* (home: string) {
  const name = path.join(home, "pipe")
  spawnSync("sh", ["-c", 'mkfifo "$0"', name])
  const { O_NONBLOCK, O_RDONLY } = fs.constants
  const open = (flags: number | string) =>
    Effect.acquireRelease(
      Effect.sync(() => {
        let isOpen = true
        const descriptor = fs.openSync(name, flags)
        const close = () => {
          if (isOpen) fs.closeSync(descriptor)
          isOpen = false
        }
        return { descriptor, close }
      }),
      ({ close }) => Effect.sync(close)
    )
  return { reader: yield* open(O_RDONLY | O_NONBLOCK), writer: yield* open("w") }
})

/** A service whose standard output is a pipe that this process does not read. */
const startUnread = Effect.gen(function* () {
  const home = yield* folder
  const pipe = yield* makePipe(home)
  const port = String(yield* freePort)
  const env = { API_KEY: Service.apiKey, PORT: port, RATE_LIMIT_REQUESTS_PER_SECOND: "10000" }
  const service = yield* Service.start({ folder: home, env, output: pipe.writer.descriptor })
  pipe.writer.close()
  const call = (id: string) =>
    Service.call(`http://127.0.0.1:${port}/api/v1/relayers`, { headers: { "x-request-id": id } })
  yield* Effect.tryPromise(() => fetch(`http://127.0.0.1:${port}/api/v1/health`)).pipe(
    Effect.retry(Schedule.spaced("20 millis"))
  )
  return { service, call, reader: pipe.reader }
})

/** Requests whose records have several times as many bytes as the pipe takes. */
const ids = Array.from({ length: 600 }, (_, index) => `${"r".repeat(100)}-${index}`)

const callAll = Effect.fnUntraced(function* (call: (id: string) => Effect.Effect<Service.Answer>) {
  for (const id of ids) {
    const { status } = yield* call(id)
    if (status !== 200) assert.fail(`the response has the status ${status}`)
  }
})

/** Reads until the last of the requests has its record. */
const readRecords = (reader: number) =>
  Effect.suspend(() => {
    let text = ""
    const bytes = new Uint8Array(65_536)
    const read = Effect.sync(() => {
      try {
        text += Buffer.from(bytes.subarray(0, fs.readSync(reader, bytes))).toString()
      } catch {
        return undefined
      }
      return text.includes(`${ids.at(-1)}"`) ? text : undefined
    })
    return Effect.repeat(read, { until: (found) => found !== undefined, schedule: Schedule.spaced("2 millis") })
  })

describe.concurrent("a service whose standard output is a pipe", () => {
  it.live(
    "that nobody reads answers all requests, keeps their records in order for a reader, and stops when it is asked to",
    () =>
      Effect.gen(function* () {
        const { call, reader, service } = yield* startUnread
        yield* callAll(call)
        const text = (yield* readRecords(reader.descriptor)) ?? ""
        const found = text
          .split("\n")
          .filter((line) => line.includes('"message":"request"') && line.includes("rrr"))
          .map((line) => (JSON.parse(line) as { readonly request_id: string }).request_id)
        assert.deepStrictEqual(found, ids)
        yield* callAll(call)
        assert.deepStrictEqual(yield* Service.stop(service), { code: 0, signal: null })
      }).pipe(Effect.scoped)
  )

  it.live("that is closed answers all requests, and stops when it is asked to", () =>
    Effect.gen(function* () {
      const { call, reader, service } = yield* startUnread
      reader.close()
      yield* callAll(call)
      assert.deepStrictEqual(yield* Service.stop(service), { code: 0, signal: null })
      assert.strictEqual(service.stderr(), "")
    }).pipe(Effect.scoped)
  )
})

const telemetry = path.resolve(import.meta.dirname, "../../src/process/Telemetry.ts")

/** A program that logs three records in one moment, and then ends by `last`. Gives its standard output. */
const logAndEnd = (format: "json" | "pretty", last: string) =>
  Effect.promise(async () => {
    const program = `
      import { Effect } from "effect"
      import * as Telemetry from ${JSON.stringify(telemetry)}
      const records = Effect.forEach(["first", "second", "third"], (word) =>
        Effect.annotateLogs(Effect.logInfo("record"), { word })
      )
      const log = Telemetry.layer({ LOG_FORMAT: "${format}", LOG_LEVEL: "info" }, false)
      Effect.runFork(Effect.provide(Effect.andThen(records, Effect.sync(() => { ${last} })), log))`
    const child = spawn(process.execPath, ["--input-type=module-typescript", "--eval", program], {
      cwd: import.meta.dirname,
      stdio: ["ignore", "pipe", "pipe"]
    })
    const stdout = Service.collect(child.stdout)
    const stderr = Service.collect(child.stderr)
    const code = await new Promise((resolve) => child.once("close", resolve))
    return { code, stdout: stdout(), stderr: stderr() }
  })

const bug = 'setImmediate(() => { throw new Error("bug") })'

const ends = [
  { name: "its own end", format: "json", last: "", code: 0 },
  { name: "its own end", format: "pretty", last: "", code: 0 },
  { name: "process.exit", format: "json", last: "process.exit(3)", code: 3 },
  { name: "an exception that nobody catches", format: "json", last: bug, code: 1 },
  { name: "an exception that nobody catches", format: "pretty", last: bug, code: 1 },
  { name: "a promise that nobody catches", format: "json", last: 'void Promise.reject(new Error("bug"))', code: 1 }
] as const

describe.concurrent("the records that a process logged just before an end", () => {
  it.live.each(ends)("are in the log: $name, $format", ({ code, format, last }) =>
    Effect.gen(function* () {
      const ended = yield* logAndEnd(format, last)
      assert.strictEqual(ended.code, code, ended.stderr)
      assert.deepStrictEqual(ended.stdout.match(/first|second|third/g), ["first", "second", "third"])
    })
  )
})
