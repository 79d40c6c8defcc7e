// The format of log records, and the rule for log messages in the source.
import { assert, describe, it } from "@effect/vitest"
import { Cause, Effect, Logger } from "effect"
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
