// A file that is no JSON is reported with the line and the column where it stops being JSON, whatever its text is.
import { assert, describe, it } from "@effect/vitest"
import { Result, Schema } from "effect"
import { jsonProblem, problemText } from "../../../src/cli/configuration/Tree.ts"

const placeIn = (text: string): string | undefined => {
  const problem = jsonProblem("a.json", text)
  return problem === undefined ? undefined : problemText(problem)
}

const isJson = (text: string) => Result.isSuccess(Result.try(() => void JSON.parse(text)))

describe("the place where a text stops being JSON", () => {
  it.each([
    ["an empty file", "", "1:1"],
    ["a comment", '{"a": 1, // b\n "c": 2}', "1:10"],
    ["a comma after the last entry", '{\n  "a": [1, 2,]\n}', "2:14"],
    ["a missing comma", '{"a": 1\n "b": 2}', "2:2"],
    ["a missing colon", '{"a" 1}', "1:6"],
    ["a name without quotes", "{a: 1}", "1:2"],
    ["a text in single quotes", "['a']", "1:2"],
    ["a text with a line break", '["a\nb"]', "1:2"],
    ["a missing end", '{"a": [1', "1:9"],
    ["more than one value", "{}\n{}", "2:1"],
    ["another closing bracket", "[1}", "1:3"],
    ["a number with a leading zero", "[01]", "1:3"]
  ])("is named for %s", (_, text, place) => {
    assert.strictEqual(placeIn(text), `is not valid JSON (a.json:${place})`)
    assert.isFalse(isJson(text))
  })

  it.prop(
    "is named for exactly the texts that JSON.parse refuses, also if one sign of a JSON text is another one",
    [Schema.Json, Schema.Int, Schema.Literals(["", '"', ",", ":", "{", "}", "[", "]", "0", "-", "\\", " ", "\n", "t"])],
    ([value, number, sign]) => {
      const text = JSON.stringify(value, null, Math.abs(number) % 3)
      assert.isUndefined(placeIn(text))
      const at = Math.abs(number) % (text.length + 1)
      const changed = `${text.slice(0, at)}${sign}${text.slice(at + 1)}`
      assert.strictEqual(placeIn(changed) === undefined, isJson(changed), changed)
    },
    { arbitrary: { runs: 500 } }
  )
})
