// The least gas of a transaction, and the limit that it gets for an estimate.
import { Arbitrary, Schema } from "effect"
import { assert, describe, it } from "@effect/vitest"
import { calldataFloor, estimatedLimitOf, intrinsicGas, minimumGas } from "../../../../src/networks/evm/rules/Costs.ts"
import { commandsOf, lane, request, seen, submitted, tagsOf } from "./Fixtures.ts"

const to = "0x000000000000000000000000000000000000dEaD"
const bytes = Arbitrary.array(Arbitrary.schema(Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: 255 })))).pipe(
  Arbitrary.map((values) => `0x${values.map((value) => value.toString(16).padStart(2, "0")).join("")}`)
)

describe("the least gas", () => {
  it.each([
    ["a transfer", { to, data: "0x" }, 21_000n],
    ["one zero byte, by the floor", { to, data: "0x00" }, 21_010n],
    ["one other byte, by the floor", { to, data: "0x01" }, 21_040n],
    ["a transfer of a token", { to, data: `0xa9059cbb${"00".repeat(31)}01${"00".repeat(31)}01` }, 21_860n],
    ["an empty creation", { data: "0x" }, 53_000n],
    ["a creation of 33 bytes: two words", { data: `0x${"00".repeat(33)}` }, 53_136n]
  ])("of %s is known", (_, call, gas) => {
    assert.strictEqual(minimumGas(call), gas)
  })

  it.prop("is the larger one of the intrinsic gas and the floor of the calldata", [bytes], ([data]) => {
    for (const call of [{ to, data }, { data }]) {
      assert.isTrue(minimumGas(call) >= intrinsicGas(call))
      assert.isTrue(minimumGas(call) >= calldataFloor(call))
      assert.include([intrinsicGas(call), calldataFloor(call)], minimumGas(call))
    }
    assert.isTrue(intrinsicGas({ data }) >= intrinsicGas({ to, data }) + 32_000n)
  })
})

describe("a gas limit", () => {
  const estimates = Arbitrary.schema(
    Schema.BigInt.check(Schema.isBetweenBigInt({ minimum: 21_000n, maximum: 10n ** 8n }))
  )

  it.prop("is a fifth above the estimate, and within the caps of block and network", [estimates], ([estimate]) => {
    const caps = { blockGasLimit: 30_000_000n, transactionGasCap: 2n ** 24n }
    assert.isTrue(estimatedLimitOf(estimate, caps) <= 2n ** 24n)
    const free = estimatedLimitOf(estimate, {})
    assert.strictEqual(free, estimate === 21_000n ? estimate : (estimate * 6n + 4n) / 5n)
  })

  it("of a new version that its call does not keep is signed by no attempt", () => {
    const versions = [request(), request({ to, gas_limit: 50_000n, simulate: true })] as const
    const decided = (gas: bigint) => {
      const view = seen({ isInquired: true, estimate: { _tag: "Gas", gas } })
      return tagsOf(commandsOf(submitted({ versions }), lane(), view))
    }
    assert.include(decided(50_000n), "Sign")
    assert.notInclude(decided(50_001n), "Sign")
  })

  it("of a plain transfer is exactly 21,000", () => {
    assert.strictEqual(estimatedLimitOf(21_000n, {}), 21_000n)
    assert.strictEqual(estimatedLimitOf(21_001n, {}), 25_202n)
  })
})
