import { assert, describe, it } from "@effect/vitest"
import { Result, Schema } from "effect"
import * as Json from "../../../src/api/Json.ts"
import { GasLimit, PositiveUint64, Uint128, Uint256, Uint64, Wei, WeiPerGas } from "../../../src/domain/chain/Amount.ts"
import { parse } from "../../../src/domain/request/ExactJson.ts"

/** Numbers of JSON with an exponent, of which some are whole. */
const Exponential = Schema.String.check(Schema.isPattern(/^-?(0|[1-9][0-9]{0,3})(\.[0-9]{1,3})?[eE][+-]?[0-9]{1,2}$/))

const max128 = 2n ** 128n - 1n
const decode = (schema: typeof Uint128, text: string) =>
  Result.getOrUndefined(Schema.decodeResult(Json.fromText(schema))(text))

describe("amounts", () => {
  it.prop("are JSON numbers that keep every digit", [Uint128], ([amount]) => {
    const text = Schema.encodeSync(Json.fromText(Uint128))(amount)
    assert.strictEqual(text, String(amount))
    assert.strictEqual(Schema.decodeSync(Json.fromText(Uint128))(text), amount)
  })

  it.prop("of 256 bits are JSON numbers that keep every digit", [Uint256], ([amount]) => {
    const text = Schema.encodeSync(Json.fromText(Uint256))(amount)
    assert.strictEqual(text, String(amount))
    assert.strictEqual(Schema.decodeSync(Json.fromText(Uint256))(text), amount)
  })

  it("of 256 bits end at 2^256 - 1", () => {
    assert.strictEqual(decode(Uint256, String(2n ** 256n - 1n)), 2n ** 256n - 1n)
    assert.isUndefined(decode(Uint256, String(2n ** 256n)))
  })

  it.prop("are accepted as decimal strings as well", [Uint128], ([amount]) => {
    assert.strictEqual(decode(Uint128, `"${amount}"`), amount)
  })

  it.each([
    ["0", 0n],
    [String(max128), max128],
    [`"${max128}"`, max128],
    ["9007199254740993", 9007199254740993n],
    ["1000000000000000000", 10n ** 18n],
    ["1e18", 10n ** 18n],
    ["1.5e18", 15n * 10n ** 17n],
    ['"1e18"', 10n ** 18n],
    ['"1.5E+18"', 15n * 10n ** 17n],
    ['"1000e-3"', 1n]
  ])("%s is %s", (text, amount) => {
    assert.strictEqual(decode(Uint128, text), amount)
  })

  it.each([
    "-1",
    '"-1"',
    "1.5",
    '"1.5"',
    '"1.5e0"',
    '"15e-1"',
    '"1e40"',
    '"-1e3"',
    '"01e3"',
    '"1e"',
    '"0x10"',
    '" 1"',
    '""',
    '"01"',
    "true",
    "null",
    "[1]",
    String(max128 + 1n),
    "1e40"
  ])("%s is no amount", (text) => {
    assert.isUndefined(decode(Uint128, text))
  })

  it("with an exponent that leaves a fraction are refused as fractions are, as text and as number", () => {
    const refusal = (text: string) =>
      Result.match(Schema.decodeUnknownResult(Wei)(parse(text)), {
        onFailure: ({ message }) => message,
        onSuccess: () => "accepted"
      })
    for (const text of ["1.5e0", '"1.5e0"', '"15e-1"', '"1.5"']) assert.strictEqual(refusal(text), refusal("1.5"), text)
    assert.include(refusal('"1.5e0"'), "a whole number of wei")
  })

  it.prop("with an exponent are the same as text and as number", [Exponential], ([text]) => {
    for (const schema of [Uint64, Uint128, Uint256, Wei, WeiPerGas, GasLimit]) {
      const decode = Schema.decodeUnknownOption(schema)
      assert.deepStrictEqual(decode(text), decode(parse(text)), text)
    }
  })

  it("in lamports are at most 2^64−1, and a cap is at least 1", () => {
    assert.strictEqual(decode(Uint64, "18446744073709551615"), 2n ** 64n - 1n)
    assert.isUndefined(decode(Uint64, "18446744073709551616"))
    assert.isUndefined(decode(PositiveUint64, "0"))
  })
})
