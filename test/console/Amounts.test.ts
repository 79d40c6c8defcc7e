// Amounts as people read and write them: exact, or refused.
import { assert, describe, it } from "@effect/vitest"
import { Arbitrary, Effect, Schema } from "effect"
import { exact, full, parse, short, shown, smallestUnits } from "../../web/src/data/Amounts.ts"
import type { AmountProblem } from "../../web/src/data/Amounts.ts"

describe("amounts", () => {
  it.effect.prop(
    "are written and read without loss, up to 128 bits, in every unit",
    [
      Arbitrary.schema(Schema.BigInt.check(Schema.isBetweenBigInt({ minimum: 0n, maximum: 2n ** 128n - 1n }))),
      Arbitrary.schema(Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: 18 })))
    ],
    ([value, decimals]) =>
      Effect.sync(() => assert.deepStrictEqual(parse(exact(value, decimals), decimals), { ok: true, value }))
  )

  it("are refused if they may be mistakes", () => {
    const problems: Readonly<Record<string, AmountProblem>> = {
      "1e-1": "not_decimal",
      "1.234e1": "too_many_decimals",
      "1,5": "not_decimal",
      "-1": "not_decimal",
      "1.23": "too_many_decimals",
      " ": "empty"
    }
    for (const [text, problem] of Object.entries(problems))
      assert.deepStrictEqual(parse(text, 1), { ok: false, problem })
    assert.deepStrictEqual(parse((2n ** 128n).toString(), 0), { ok: false, problem: "too_large" })
  })

  it("may be written with an exponent", () => {
    assert.deepStrictEqual(parse("1e18", 0), { ok: true, value: 10n ** 18n })
    assert.deepStrictEqual(parse("1.23E+1", 1), { ok: true, value: 123n })
    assert.deepStrictEqual(parse("1e39", 0), { ok: false, problem: "too_large" })
  })

  it("have every digit where a person agrees to them", () => {
    const ether = { ...smallestUnits.evm, symbol: "ETH" }
    assert.strictEqual(full(1_234_500_000_000_000_000_001n, ether), "1,234.500000000000000001 ETH")
    assert.strictEqual(full(1n, ether), "0.000000000000000001 ETH")
    assert.strictEqual(full(0n, ether), "0 ETH")
  })

  it("say by an ellipsis that digits are left out", () => {
    assert.strictEqual(short(1_234_500_000_000_000_000_000n, 18), "1,234.5")
    assert.strictEqual(short(1n, 18), "0.000000…")
    assert.strictEqual(short(-5n, 1), "-0.5")
  })

  it("are written in the smallest unit if the short form has no digit of them", () => {
    const ether = { ...smallestUnits.evm, symbol: "ETH" }
    assert.strictEqual(shown(1n, ether), "1 wei")
    assert.strictEqual(shown(21_000n, ether), "21,000 wei")
    assert.strictEqual(shown(10n ** 12n, ether), "0.000001 ETH")
    assert.strictEqual(shown(0n, ether), "0 ETH")
  })
})
