// The command lines of the fault cases, of the invalid requests and of the report of benchmarks.
import { NodeServices } from "@effect/platform-node"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Runtime } from "effect"
import { Command } from "effect/cli"
import { TestConsole } from "effect/testing"
import { execFile } from "node:child_process"
import * as Report from "../../bench/report.ts"
import * as Fuzz from "../../faults/fuzz/main.ts"
import * as Faults from "../../faults/main.ts"
import { compileCache } from "../../testkit/process/Service.ts"

const { command: faults } = Faults

/** Runs a command to its end in the process of the test, with what all commands of the test have printed until then. */
const run = Effect.fnUntraced(function* <Name extends string, Input, Shared, E>(
  command: Command.Command<Name, Input, Shared, E, Command.Environment>,
  ...words: ReadonlyArray<string>
) {
  const exit = yield* Effect.exit(Command.runWith(command, { version: "1" })(words)).pipe(
    Effect.provide(NodeServices.layer)
  )
  const status = yield* Effect.callback<number>((resume) =>
    Runtime.defaultTeardown(exit, (code) => resume(Effect.succeed(code)))
  )
  const [stdout, stderr] = [yield* TestConsole.logLines, yield* TestConsole.errorLines]
  return { status, stdout: stdout.join("\n"), stderr: stderr.join("\n") }
})

/**
 * Milliseconds after which a process counts as hanging. Rarely, `process.exit` of Node waits for a compiler thread that waits for the main
 * thread (seen in 24.21; https://github.com/nodejs/node/issues/54918).
 */
const hangsAfter = 120_000

const start = (file: string, ...words: ReadonlyArray<string>) =>
  Effect.callback<{ readonly status: unknown; readonly stderr: string }>((resume) => {
    const env = { ...process.env, NODE_COMPILE_CACHE: compileCache }
    execFile(process.execPath, [file, ...words], { env, timeout: hangsAfter }, (error, _stdout, stderr) =>
      resume(Effect.succeed({ status: error === null ? 0 : error.code, stderr }))
    )
  })

describe("a command line for contributors", () => {
  for (const [file, help, flag] of [
    ["faults/main.ts", run(faults, "--help"), "--seed"],
    ["faults/fuzz/main.ts", run(Fuzz.command, "--help"), "--short"],
    ["bench/report.ts", run(Report.command, "--help"), "results"]
  ] as const) {
    it.effect(`of ${file} has a usage, and refuses an unknown flag`, () =>
      Effect.gen(function* () {
        const { status, stdout } = yield* help
        assert.strictEqual(status, 0)
        assert.include(stdout, "USAGE")
        assert.include(stdout, flag)
        const unknown = yield* start(file, "--sead", "1")
        assert.strictEqual(unknown.status, 1)
        assert.include(unknown.stderr, "Unrecognized flag: --sead")
      })
    )
  }

  it.effect("refuses a fault case that does not exist, and names those that exist", () =>
    Effect.gen(function* () {
      for (const name of ["kil", "kill*s"]) {
        const { status, stderr } = yield* run(faults, "relay", name)
        assert.strictEqual(status, 1)
        assert.include(stderr, `Invalid value for argument <case>: "${name}". Expected: one of kill, apply-kill, `)
      }
    })
  )

  it.effect("lists the fault cases whose names fit a pattern", () =>
    Effect.gen(function* () {
      const { status, stdout } = yield* run(faults, "--list", "kill", "solana-f*")
      assert.strictEqual(status, 0)
      assert.deepStrictEqual(
        stdout.split("\n").map((line) => line.split(" ")[0]),
        ["kill", "solana-frozen", "solana-fork"]
      )
    })
  )

  it.effect("refuses a part that no chosen case has, and names the parts that exist", () =>
    Effect.gen(function* () {
      const { status, stderr, stdout } = yield* run(faults, "--part", "verify-nothing")
      assert.strictEqual(status, 1)
      assert.match(stderr, /Invalid value for flag --part: "verify-nothing".*"large pages" \| .*"compatible"/)
      assert.notInclude(stdout, "seed 1")
      const wrongCase = yield* run(faults, "versions", "--part", "large pages")
      assert.strictEqual(wrongCase.status, 1)
      assert.match(wrongCase.stderr, /text of one of "compatible" \| "incompatible"/)
      const whole = yield* run(faults, "kill", "--part", "compatible")
      assert.strictEqual(whole.status, 1)
      assert.include(whole.stderr, "the chosen cases have no parts")
    })
  )

  it.effect("refuses to report the figures of a short run", () =>
    Effect.gen(function* () {
      const { status, stderr } = yield* run(faults, "--short", "--report")
      assert.strictEqual(status, 1)
      assert.include(stderr, "a run without --short")
    })
  )
})
