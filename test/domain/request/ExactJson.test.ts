import { assert, describe, it } from "@effect/vitest"
import { Schema } from "effect"
import { Uint128, Wei } from "../../../src/domain/chain/Amount.ts"
import { carried, isReadable, parse, Value } from "../../../src/domain/request/ExactJson.ts"

const large = 9007199254740993n

describe("an integer beyond 2^53", () => {
  const cases: ReadonlyArray<readonly [text: string, value: unknown]> = [
    ["9007199254740993", large],
    ["-9007199254740993", -large],
    ["[9007199254740993]", [large]],
    ["[1,-9007199254740993]", [1, -large]],
    [`{"a":9007199254740993}`, { a: large }],
    [`{"a" :\n\t9007199254740993 }`, { a: large }],
    [`["0x9007199254740993", 9007199254740993]`, ["0x9007199254740993", large]],
    ["1e18", 10n ** 18n],
    ["[1.5E+18,-9.1e15]", [15n * 10n ** 17n, -91n * 10n ** 14n]],
    [`{"a":123456789012345678.9e1}`, { a: 1234567890123456789n }]
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

  it("is none with an exponent that leaves a fraction or more than 80 digits", () => {
    assert.deepStrictEqual(parse("[12345678901234567.89e1, 1e80, 1e400]"), [
      Number("12345678901234567.89e1"),
      1e80,
      Infinity
    ])
    assert.deepStrictEqual(parse("1e79"), 10n ** 79n)
  })

  it("is a bigint in any value, also if its text has an exponent", () => {
    const isValue = Schema.is(Schema.toType(Value))
    assert.deepStrictEqual(
      [1e24, 10n ** 24n, 1e80, 1.5e300].map((value) => isValue([value])),
      [false, true, true, true]
    )
    assert.deepStrictEqual(carried([1e16, 1e24, -1.5e21, 1e80]), [10n ** 16n, 10n ** 24n, -15n * 10n ** 20n, 1e80])
  })

  it("is not looked for in texts and fractions", () => {
    const value = { "0x9007199254740993": "9007199254740993", text: ": 9007199254740993", part: 0.9007199254740993 }
    assert.deepStrictEqual(parse(JSON.stringify(value)), value)
  })
})

describe("an integer of more than 80 digits", () => {
  it("is not read", () => {
    assert.deepStrictEqual(parse(`[${"9".repeat(80)}, -${"9".repeat(81)}]`), [BigInt("9".repeat(80)), NaN])
    assert.isFalse(isReadable(parse(`{"a":[${"9".repeat(81)}]}`), 0))
  })

  it("is refused where an amount is expected, and in JSON of any shape", () => {
    for (const schema of [Uint128, Wei, Value]) {
      assert.strictEqual(Schema.decodeUnknownResult(schema)(parse("9".repeat(1_000_000)))._tag, "Failure")
    }
  })
})

describe("a fraction that a number rounds to an integer", () => {
  const rounded = [
    "0.99999999999999999999",
    "1.00000000000000000001",
    "-1.00000000000000000001",
    "4503599627370497.4",
    "1e-400",
    "1.5E-400",
    `0.${"0".repeat(400)}1`,
    "100000000000000000001e-20"
  ]
  for (const text of rounded) {
    it(`is refused as an amount: ${text.slice(0, 30)}`, () => {
      for (const schema of [Uint128, Wei]) {
        assert.strictEqual(Schema.decodeUnknownResult(schema)(parse(text))._tag, "Failure")
        assert.strictEqual(
          Schema.decodeUnknownResult(schema)((parse(`{"a": ${text}}`) as { a: unknown }).a)._tag,
          "Failure"
        )
      }
    })
  }

  for (const [text, value] of [
    ["1.0000000000000000000000", 1],
    ["1.5e1", 15],
    ["0.000000000000000000000", 0],
    ["1000000000000000000000e-18", 1000],
    ["0.5", 0.5]
  ] as const) {
    it(`is not ${text}`, () => {
      assert.strictEqual(parse(text), value)
    })
  }
})

describe("an answer of 300,000 nested lists", () => {
  it("is not readable, and does not overflow the stack", () => {
    const deep = parse(`${"[".repeat(300_000)}${"]".repeat(300_000)}`)
    assert.isFalse(isReadable(deep, 2))
    assert.strictEqual(Schema.decodeUnknownResult(Value)(deep)._tag, "Failure")
    assert.strictEqual(Schema.encodeUnknownResult(Value)(deep)._tag, "Failure")
    // The server reports every problem, so that a value that is too deep reaches the checks behind that of its depth.
    assert.strictEqual(Schema.encodeUnknownResult(Value, { errors: "all" })(deep)._tag, "Failure")
  })

  it("may nest as deep as a value, with two levels of the batch around it", () => {
    const nested = (levels: number) => parse(`${"[".repeat(levels)}${"]".repeat(levels)}`)
    assert.deepStrictEqual([isReadable(nested(34), 2), isReadable(nested(35), 2)], [true, false])
  })
})
