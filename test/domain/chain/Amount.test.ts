import { assert, describe, it } from "@effect/vitest"
import { Result, Schema } from "effect"
import * as Json from "../../../src/api/Json.ts"
import { PositiveUint64, Uint128, Uint256, Uint64 } from "../../../src/domain/chain/Amount.ts"

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
    ["1.5e18", 15n * 10n ** 17n]
  ])("%s is %s", (text, amount) => {
    assert.strictEqual(decode(Uint128, text), amount)
  })

  it.each([
    "-1",
    '"-1"',
    "1.5",
    '"1.5"',
    "1e3",
    '"1e3"',
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
    const expected = text === "1e3" ? 1000n : undefined
    assert.strictEqual(decode(Uint128, text), expected)
  })

  it("in lamports are at most 2^64−1, and a cap is at least 1", () => {
    assert.strictEqual(decode(Uint64, "18446744073709551615"), 2n ** 64n - 1n)
    assert.isUndefined(decode(Uint64, "18446744073709551616"))
    assert.isUndefined(decode(PositiveUint64, "0"))
  })
})
