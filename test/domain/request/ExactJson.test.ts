import { assert, describe, it } from "@effect/vitest"
import { parse } from "../../../src/domain/request/ExactJson.ts"

const large = 9007199254740993n

describe("an integer beyond 2^53", () => {
  const cases: ReadonlyArray<readonly [text: string, value: unknown]> = [
    ["9007199254740993", large],
    ["-9007199254740993", -large],
    ["[9007199254740993]", [large]],
    ["[1,-9007199254740993]", [1, -large]],
    [`{"a":9007199254740993}`, { a: large }],
    [`{"a" :\n\t9007199254740993 }`, { a: large }],
    [`["0x9007199254740993", 9007199254740993]`, ["0x9007199254740993", large]]
  ]
  for (const [text, value] of cases) {
    it(`keeps its digits: ${JSON.stringify(text)}`, () => {
      assert.deepStrictEqual(parse(text), value)
    })
  }

  for (const text of ["9007199254740991", "-9007199254740991", "1000000000000000", "8999999999999999"]) {
    it(`is not ${text}`, () => {
      assert.strictEqual(parse(text), Number(text))
    })
  }

  it("is any integer of more than 16 digits", () => {
    assert.deepStrictEqual(parse("[9007199254740992, 10000000000000000]"), [9007199254740992n, 10000000000000000n])
  })

  it("is not looked for in texts and fractions", () => {
    const value = { "0x9007199254740993": "9007199254740993", text: ": 9007199254740993", part: 0.9007199254740993 }
    assert.deepStrictEqual(parse(JSON.stringify(value)), value)
  })
})
