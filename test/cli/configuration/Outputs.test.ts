// The outputs of plans: text, colours, JSON and Markdown, compared with stored ones. `STORE=1` stores them again.
import { assert, describe, it } from "@effect/vitest"
import { Console, Effect, Schema } from "effect"
import * as fs from "node:fs"
import * as Planned from "../../../src/cli/configuration/Planned.ts"
import { Environment } from "../../../src/cli/kit/Environment.ts"
import { ConfigurationPlan } from "../../../src/domain/configuration/Plan.ts"

const stored = (name: string) => fs.readFileSync(new URL(`outputs/${name}`, import.meta.url), "utf8")

const plan = Schema.decodeUnknownSync(Schema.fromJsonString(ConfigurationPlan))(stored("plan.json"))

interface Shown {
  readonly output?: "text" | "json" | "markdown"
  readonly quiet?: boolean
  readonly isTerminal?: boolean
  readonly variables?: Record<string, string>
  readonly rehearsals?: ReadonlyArray<string>
}

/** What a command prints. */
const printed = Effect.fnUntraced(function* ({
  output = "text",
  quiet = false,
  isTerminal = false,
  variables = {},
  rehearsals
}: Shown) {
  const lines: Array<string> = []
  const console: Console.Console = { ...globalThis.console, log: (line: string) => void lines.push(`${line}\n`) }
  yield* Planned.print(plan, { output, quiet }, rehearsals).pipe(
    Effect.provideService(Console.Console, console),
    Effect.provideService(Environment, { variables, dotEnv: {}, isTerminal })
  )
  return lines.join("")
})

const rehearsals = ["relayers.treasury: of 12,431 transactions of 30 days it would have held 37 and refused 2"]

describe("outputs of plans", () => {
  const cases: ReadonlyArray<readonly [file: string, shown: Shown]> = [
    ["text.txt", { rehearsals }],
    ["markdown.txt", { output: "markdown", rehearsals }],
    ["json.txt", { output: "json", rehearsals }],
    ["quiet.txt", { quiet: true }],
    ["coloured.txt", { isTerminal: true }]
  ]
  it.effect.each(cases)("%s is as stored, twice", ([file, shown]) =>
    Effect.gen(function* () {
      const text = yield* printed(shown)
      if (process.env.STORE !== undefined) fs.writeFileSync(new URL(`outputs/${file}`, import.meta.url), text)
      assert.strictEqual(text, stored(file))
      assert.strictEqual(yield* printed(shown), text)
    })
  )

  it.effect("colours only mark symbols, and only on a terminal without NO_COLOR", () =>
    Effect.gen(function* () {
      const plain = yield* printed({})
      const coloured = yield* printed({ isTerminal: true })
      assert.notStrictEqual(coloured, plain)
      assert.strictEqual(
        coloured
          .split("\u001b")
          .map((part, index) => (index === 0 ? part : part.replace(/^\[[\d;]*m/, "")))
          .join(""),
        plain
      )
      assert.strictEqual(yield* printed({ isTerminal: true, variables: { NO_COLOR: "1" } }), plain)
      assert.strictEqual(yield* printed({ isTerminal: true, variables: { NO_COLOR: "" } }), coloured)
      for (const output of ["json", "markdown"] as const) {
        assert.notInclude(yield* printed({ output, isTerminal: true }), "\u001b[")
      }
    })
  )

  it.effect("a text of an object cannot move the cursor, end a line, or end a cell", () =>
    Effect.gen(function* () {
      for (const output of ["text", "markdown"] as const) {
        const text = yield* printed({ output })
        assert.notInclude(text, "\u001b")
        assert.include(text, output === "text" ? "Line?break?[31m and | `pipe`" : "Line?break?[31m and \\| 'pipe'")
      }
    })
  )

  it.effect("the width of a terminal changes no byte", () =>
    Effect.gen(function* () {
      assert.strictEqual(yield* printed({ variables: { COLUMNS: "60" } }), yield* printed({}))
    })
  )
})
