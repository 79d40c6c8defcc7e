// Durations on the command line.
import { assert, it } from "@effect/vitest"
import { Effect, Schema } from "effect"
import { Lifetime } from "../../../src/cli/kit/Field.ts"

const decode = Schema.decodeUnknownEffect(Lifetime)

it.effect("a duration is decoded to seconds", () =>
  Effect.gen(function* () {
    for (const [text, seconds] of [
      ["0s", 0],
      ["45s", 45],
      ["30m", 1800],
      ["12h", 43_200],
      ["30d", 2_592_000],
      ["2w", 1_209_600]
    ] as const) {
      assert.strictEqual(yield* decode(text), seconds)
    }
  })
)

it.effect("any other text is refused with the expected form", () =>
  Effect.gen(function* () {
    for (const text of ["", "30", "d", "1.5h", "-1d", "1y", "1d2h", "1 d", "9999999999d"]) {
      assert.include((yield* Effect.flip(decode(text))).message, "45s, 30m, 12h, 30d or 2w", text)
    }
  })
)
