// The error of a refused request names each wrong field, unless a name is unsafe or too long.
import { assert, describe, it } from "@effect/vitest"
import { Schema } from "effect"
import { maxErrorLength } from "../../../src/domain/request/Request.ts"
import { errorIn, strict } from "../../../testkit/DecodedBody.ts"
import { maxViolations } from "../../../src/domain/request/Violations.ts"

const decode = Schema.decodeUnknownResult(Schema.Struct({ id: Schema.optionalKey(Schema.String) }), strict)

/** The error of an object with these unknown fields. */
const errorOf = (...fields: ReadonlyArray<string>) =>
  errorIn(decode(Object.fromEntries(fields.map((field) => [field, 1]))))

describe("the names of fields", () => {
  const names = [
    ["of any script", "größe 値 😀", "größe 値 😀"],
    ["with control characters", "a\0b\nc\u007fd\u0085e", "a?b?c?d?e"],
    ["that turn the direction of text", "a\u202eb\u2066c", "a?b?c"],
    ["with half of a character", "a\ud83db\ude00c", "a?b?c"],
    ["that are too long", "x".repeat(200), "x".repeat(128)],
    ["that are cut inside of a character", `${"x".repeat(127)}😀`, `${"x".repeat(127)}?`]
  ] as const
  it.each(names)("%s", (_, field, shown) => {
    assert.strictEqual(errorOf(field), `${shown}: is not a known field`)
  })

  it("make up no more than the error holds, which says how many more there are", () => {
    for (let shift = 0; shift < 4; shift++) {
      const error = errorOf(...Array.from({ length: 20 }, (_, n) => `${"x".repeat(shift)}${n}${"😀".repeat(60)}`))
      assert.isAtMost(error.length, maxErrorLength)
      assert.isTrue(error.isWellFormed())
      assert.match(error, /is not a known field; and 1\d more$/)
    }
  })

  it("are at most 50, however many fields are unknown", () => {
    const error = errorOf(...Array.from({ length: 80_000 }, (_, n) => `${n}`))
    const [, more] = /; and (\d+) more$/.exec(error) ?? []
    const shown = error.split("; ").length - 1
    assert.isAtMost(shown, maxViolations)
    assert.strictEqual(shown + Number(more), 80_000)
  })
})
