// The format of log records, and the rule for log messages in the source.
import { assert, describe, it } from "@effect/vitest"
import { Cause, Effect, Logger, Redacted } from "effect"
import { TestClock } from "effect/testing"
import * as fs from "node:fs"
import * as path from "node:path"
import * as Telemetry from "../../src/process/Telemetry.ts"

/** The JSON lines that `self` logs. */
const logged = Effect.fnUntraced(function* (self: Effect.Effect<void>) {
  const lines: Array<string> = []
  const logger = Logger.map(Telemetry.formatJson, (line) => void lines.push(line))
  yield* Effect.provide(self, Logger.layer([logger]))
  return lines.map((line) => JSON.parse(line) as Record<string, unknown>)
})

describe("a log record in JSON", () => {
  it.effect("is flat: annotations are fields beside the time, the level and the message", () =>
    Effect.gen(function* () {
      const [record] = yield* logged(
        Effect.annotateLogs(Effect.logInfo("relayer created"), { relayer_id: "payouts", version: 1 })
      )
      assert.deepStrictEqual(record, {
        timestamp: "1970-01-01T00:00:00.000Z",
        level: "INFO",
        message: "relayer created",
        relayer_id: "payouts",
        version: 1
      })
    })
  )

  it.effect("has a message that is a string, whatever is logged", () =>
    Effect.gen(function* () {
      const records = yield* logged(
        Effect.gen(function* () {
          yield* Effect.logInfo("one", { two: 3n })
          yield* Effect.logInfo({ only: "an object" })
          yield* Effect.logInfo()
        })
      )
      assert.deepStrictEqual(
        records.map(({ message }) => message),
        ['one {"two":"3n"}', '{"only":"an object"}', ""]
      )
    })
  )

  it.effect("never shows a secret, and shows a circle and a large number as text", () =>
    Effect.gen(function* () {
      const circle: Record<string, unknown> = { name: "circle" }
      circle["self"] = circle
      const annotations = { key: Redacted.make("secret"), circle, amount: 3n, nothing: undefined }
      const [record] = yield* logged(Effect.annotateLogs(Effect.logInfo("one"), annotations))
      assert.notInclude(JSON.stringify(record), "secret")
      assert.deepInclude(record, { key: "<redacted>", amount: "3n" })
      assert.notProperty(record, "nothing")
    })
  )

  it.effect("has its own message, level and time even if an annotation has one of these names", () =>
    Effect.gen(function* () {
      const annotations = { message: "forged", level: "forged", timestamp: "forged", cause: "forged" }
      const [record] = yield* logged(Effect.annotateLogs(Effect.logWarning("real", Cause.die("reason")), annotations))
      assert.strictEqual(record?.message, "real")
      assert.strictEqual(record?.level, "WARN")
      assert.strictEqual(record?.timestamp, "1970-01-01T00:00:00.000Z")
      assert.match(String(record?.cause), /reason/)
    })
  )
})

/** What a pipe takes before it is full, by `room`. Each write is kept as a text. */
const pipe = () => {
  const writes: Array<string> = []
  const state = { room: Infinity, code: "EAGAIN" }
  const sink: Telemetry.Sink = (bytes) => {
    if (state.room === 0) throw Object.assign(new Error("no room"), { code: state.code })
    const taken = bytes.subarray(0, state.room)
    state.room -= taken.length
    writes.push(new TextDecoder().decode(taken))
    return taken.length
  }
  return { writes, state, sink }
}

const makeLines = Effect.fnUntraced(function* () {
  const to = pipe()
  const lost: Array<number> = []
  const lines = yield* Telemetry.makeLines(to.sink, (count) => void lost.push(count))
  return { ...to, lines, lost }
})

describe("lines of the log", () => {
  it.effect("are written at once after a pause, and else together, ten milliseconds after the write before", () =>
    Effect.gen(function* () {
      const { lines, writes } = yield* makeLines()
      lines.add("1\n")
      lines.add("2\n")
      yield* TestClock.adjust(4)
      lines.add("3\n")
      yield* TestClock.adjust(5)
      assert.deepStrictEqual(writes, ["1\n"])
      yield* TestClock.adjust(1)
      assert.deepStrictEqual(writes, ["1\n", "2\n3\n"])
      yield* TestClock.adjust(10)
      lines.add("4\n")
      assert.deepStrictEqual(writes, ["1\n", "2\n3\n", "4\n"])
    })
  )

  it.effect("are written without waiting when they have 64 kB", () =>
    Effect.gen(function* () {
      const { lines, writes } = yield* makeLines()
      const line = `${"x".repeat(32_767)}\n`
      lines.add("1\n")
      lines.add(line)
      assert.lengthOf(writes, 1)
      lines.add(line)
      assert.deepStrictEqual(writes, ["1\n", line + line])
    })
  )

  it.effect("that a full pipe does not take wait for it, in their order", () =>
    Effect.gen(function* () {
      const { lines, lost, state, writes } = yield* makeLines()
      state.room = 3
      lines.add("12\n34\n")
      lines.add("56\n")
      assert.isFalse(lines.flush())
      assert.deepStrictEqual(writes, ["12\n"])
      state.room = 1
      yield* TestClock.adjust(20)
      state.room = Infinity
      lines.add("78\n")
      yield* TestClock.adjust(1000)
      assert.strictEqual(writes.join(""), "12\n34\n56\n78\n")
      assert.isTrue(lines.flush())
      assert.isEmpty(lost)
    })
  )

  it.effect(
    "are lost when eight million characters wait for a pipe, and their number is reported when it takes lines again",
    () =>
      Effect.gen(function* () {
        const { lines, lost, state, writes } = yield* makeLines()
        state.room = 0
        const line = `${"x".repeat(Telemetry.mostWaiting / 8 - 1)}\n`
        for (let count = 0; count < 11; count++) lines.add(line)
        yield* TestClock.adjust("1 minute")
        assert.isEmpty(writes)
        assert.isEmpty(lost)
        state.room = Infinity
        yield* TestClock.adjust(1000)
        assert.strictEqual(writes.join("").length, Telemetry.mostWaiting)
        assert.deepStrictEqual(lost, [3])
        lines.add("next\n")
        assert.strictEqual(writes.at(-1), "next\n")
      })
  )

  it.effect("are lost without an error when the pipe is closed or the disk is full, and those after them are not", () =>
    Effect.gen(function* () {
      const { lines, lost, state, writes } = yield* makeLines()
      for (const code of ["EPIPE", "ENOSPC"]) {
        Object.assign(state, { code, room: 0 })
        lines.add("1\n2\n")
        yield* TestClock.adjust(10)
        lines.add("3\n")
        yield* TestClock.adjust(10)
        assert.isTrue(lines.flush())
        state.room = Infinity
        lines.add("4\n")
        yield* TestClock.adjust(10)
      }
      assert.deepStrictEqual(writes, ["4\n", "4\n"])
      assert.deepStrictEqual(lost, [2, 2])
    })
  )

  it.effect("are written at once with a warning or an error after them", () =>
    Effect.gen(function* () {
      const { lines, writes } = yield* makeLines()
      const logger = Telemetry.urgently(
        Logger.map(Telemetry.formatJson, (line) => lines.add(`${line}\n`)),
        lines
      )
      const written = () => Array.from(writes.join("").matchAll(/"message":"([^"]*)"/g), ([, message]) => message)
      yield* Effect.gen(function* () {
        yield* Effect.logInfo("one")
        yield* Effect.logInfo("two")
        assert.deepStrictEqual(written(), ["one"])
        yield* Effect.logWarning("three")
        assert.deepStrictEqual(written(), ["one", "two", "three"])
        yield* Effect.logInfo("four")
        yield* Effect.logError("five")
        assert.deepStrictEqual(written(), ["one", "two", "three", "four", "five"])
      }).pipe(Effect.provide(Logger.layer([logger])))
    })
  )
})

const sources = path.resolve(import.meta.dirname, "../../src")

const calls = fs
  .readdirSync(sources, { recursive: true, encoding: "utf8" })
  .filter((name) => name.endsWith(".ts"))
  .flatMap((name) =>
    [...fs.readFileSync(path.join(sources, name), "utf8").matchAll(/Effect\.log(?:[A-Z]\w*)?\(\s*([^\n]*)/g)].map(
      ([, rest]) => ({ name, rest: rest ?? "" })
    )
  )

/** A sentence that starts with a small letter, or with an abbreviation, and does not end with a full stop. */
const constantSentence = /^"(?:[a-z]|API |RPC )[^"]*[^".]"(?:\)|, (?:cause|Cause\.\w+\(\w+\))\))/

describe("a log message in the source", () => {
  it.each(calls.filter(({ rest }) => !/^(levelOf\(|problem\.reason\))/.test(rest)))(
    "is a constant lower-case sentence: $name $rest",
    ({ rest }) => assert.match(rest, constantSentence)
  )
})
