// The command lines of the fault cases, of the invalid requests and of the report of benchmarks.
import { assert, describe, it } from "@effect/vitest"
import { spawnSync } from "node:child_process"
import { compileCache } from "../../testkit/process/Service.ts"

const run = (file: string, ...words: ReadonlyArray<string>) => {
  const env = { ...process.env, NODE_COMPILE_CACHE: compileCache }
  const { status, stdout, stderr } = spawnSync(process.execPath, [file, ...words], { encoding: "utf8", env })
  return { status, stdout, stderr }
}

describe("a command line for contributors", () => {
  for (const [file, flag] of [
    ["faults/main.ts", "--seed"],
    ["faults/fuzz/main.ts", "--short"],
    ["bench/report.ts", "results"]
  ] as const) {
    it(`of ${file} has a usage, and refuses an unknown flag`, () => {
      const { status, stdout } = run(file, "--help")
      assert.strictEqual(status, 0)
      assert.include(stdout, "USAGE")
      assert.include(stdout, flag)
      const unknown = run(file, "--sead", "1")
      assert.strictEqual(unknown.status, 1)
      assert.include(unknown.stderr, "Unrecognized flag: --sead")
    })
  }

  it("refuses a fault case that does not exist, and names those that exist", () => {
    for (const name of ["kil", "kill*s"]) {
      const { status, stderr } = run("faults/main.ts", "relay", name)
      assert.strictEqual(status, 1)
      assert.include(stderr, `Invalid value for argument <case>: "${name}". Expected: one of kill, apply-kill, `)
    }
  })

  it("lists the fault cases whose names fit a pattern", () => {
    const { status, stdout } = run("faults/main.ts", "--list", "kill", "solana-f*")
    assert.strictEqual(status, 0)
    assert.deepStrictEqual(
      stdout.split("\n").map((line) => line.split(" ")[0]),
      ["kill", "solana-frozen", "solana-fork", ""]
    )
  })

  it("refuses a part that no chosen case has, and names the parts that exist", () => {
    const { status, stderr, stdout } = run("faults/main.ts", "--part", "verify-nothing")
    assert.strictEqual(status, 1)
    assert.match(stderr, /Invalid value for flag --part: "verify-nothing".*"large pages" \| .*"compatible"/)
    assert.notInclude(stdout, "seed 1")
    const wrongCase = run("faults/main.ts", "versions", "--part", "large pages")
    assert.strictEqual(wrongCase.status, 1)
    assert.match(wrongCase.stderr, /text of one of "compatible" \| "incompatible"/)
    const whole = run("faults/main.ts", "kill", "--part", "compatible")
    assert.strictEqual(whole.status, 1)
    assert.include(whole.stderr, "the chosen cases have no parts")
  })

  it("refuses to report the figures of a short run", () => {
    const { status, stderr } = run("faults/main.ts", "--short", "--report")
    assert.strictEqual(status, 1)
    assert.include(stderr, "a run without --short")
  })
})
