// What a policy would have done to one past transaction.
import { assert, describe, it } from "@effect/vitest"
import type { Transaction } from "../../../../src/networks/core/Transaction.ts"
import type { Evm } from "../../../../src/networks/evm/rules/Evm.ts"
import { judgeByPolicy } from "../../../../src/networks/evm/rules/Hindsight.ts"
import type { Fees } from "../../../../src/networks/evm/rules/Market.ts"
import { attempt, mined, pending, request, terms } from "./Fixtures.ts"
import { gwei } from "./simulation/World.ts"

const dynamic: Fees = { type: "eip1559", maxFee: 50n * gwei, tip: 2n * gwei }

/** Mined at this price per gas. With a tip of 2 gwei, the base fee was 2 gwei below it. */
const minedAt = (price: bigint, fees: Fees = dynamic): Transaction<Evm> =>
  mined({ attempts: [attempt(1, { fees })] }, 1, { effectiveGasPrice: price * gwei })

const verdictOf = (transaction: Transaction<Evm>, cap: bigint) =>
  judgeByPolicy(transaction, terms({ cap: cap * gwei }))._tag

describe("a transaction under another policy", () => {
  it("is held if the base fee of its block was above the cap", () => {
    assert.strictEqual(verdictOf(minedAt(32n), 29n), "Held")
    assert.strictEqual(verdictOf(minedAt(32n), 30n), "Sent")
  })

  it("is not held because its highest fee was above the cap", () => {
    assert.strictEqual(verdictOf(minedAt(12n), 20n), "Sent")
  })

  it("is held if it was a legacy transaction with a price above the cap", () => {
    const fees: Fees = { type: "legacy", gasPrice: 30n * gwei }
    assert.strictEqual(verdictOf(minedAt(30n, fees), 29n), "Held")
    assert.strictEqual(verdictOf(minedAt(30n, fees), 30n), "Sent")
  })

  it("is not held without a cap, or without attempts that execute it", () => {
    assert.strictEqual(judgeByPolicy(minedAt(32n), terms())._tag, "Sent")
    assert.strictEqual(verdictOf(pending({ state: "expired" }), 1n), "Sent")
    const noop = attempt(1, { kind: "noop", fees: { type: "legacy", gasPrice: 30n * gwei } })
    assert.strictEqual(verdictOf(pending({ state: "canceled", attempts: [noop] }), 1n), "Sent")
  })

  it("counts the attempt that was mined", () => {
    const cheap: Fees = { type: "legacy", gasPrice: 10n * gwei }
    const dear: Fees = { type: "legacy", gasPrice: 30n * gwei }
    const attempts = [attempt(1, { fees: cheap }), attempt(2, { fees: dear })]
    assert.strictEqual(verdictOf(mined({ attempts }, 1), 20n), "Sent")
    assert.strictEqual(verdictOf(mined({ attempts }, 2), 20n), "Held")
  })

  it("is refused with the field and the words of a 400", () => {
    const given = request({ max_fee_per_gas: 40n * gwei, max_priority_fee_per_gas: gwei })
    assert.deepStrictEqual(judgeByPolicy({ ...minedAt(30n), versions: [given] }, terms({ cap: 20n * gwei })), {
      _tag: "Refused",
      field: "max_fee_per_gas",
      message: `must be at most ${20n * gwei}, the gas_price_cap of the relayer`
    })
    assert.deepStrictEqual(judgeByPolicy(minedAt(3n), terms({ receivers: [`0x${"aa".repeat(20)}`] })), {
      _tag: "Refused",
      field: "to",
      message: "is not in whitelist_receivers of the relayer's policy"
    })
    const { gas_limit: _, ...estimated } = request()
    const withoutEstimates = judgeByPolicy({ ...minedAt(3n), versions: [estimated] }, terms({ estimatesGas: false }))
    assert.deepInclude(withoutEstimates, { _tag: "Refused", field: "gas_limit" })
    assert.deepInclude(judgeByPolicy(minedAt(3n), terms({ isPrivate: true, hasPrivateProviders: false })), {
      _tag: "Refused",
      field: "policies.private_transactions"
    })
    assert.strictEqual(judgeByPolicy(minedAt(3n), terms({ isPrivate: true }))._tag, "Sent")
  })

  it("is judged as private if it was, also under a policy that does not ask for it", () => {
    const route = { kind: "private" } as const
    const withoutTip = request({ max_fee_per_gas: 40n * gwei, max_priority_fee_per_gas: 0n })
    for (const kind of ["private", "fell_back"] as const) {
      const privately = { ...minedAt(3n), route: { kind } }
      assert.deepInclude(judgeByPolicy(privately, terms({ hasPrivateProviders: false })), {
        _tag: "Refused",
        field: "private"
      })
      assert.strictEqual(judgeByPolicy(privately, terms({ hasPrivateProviders: true }))._tag, "Sent")
    }
    assert.strictEqual(judgeByPolicy(minedAt(3n), terms({ hasPrivateProviders: false }))._tag, "Sent")
    assert.deepInclude(judgeByPolicy({ ...minedAt(3n), route, versions: [withoutTip] }, terms()), {
      _tag: "Refused",
      field: "max_priority_fee_per_gas"
    })
    assert.strictEqual(judgeByPolicy({ ...minedAt(3n), versions: [withoutTip] }, terms())._tag, "Sent")
  })

  it("is judged by the newest version of its request", () => {
    const other = request({ to: `0x${"aa".repeat(20)}` })
    const allowed = terms({ receivers: [`0x${"aa".repeat(20)}`] })
    assert.strictEqual(judgeByPolicy({ ...minedAt(3n), versions: [request(), other] }, allowed)._tag, "Sent")
    assert.strictEqual(judgeByPolicy({ ...minedAt(3n), versions: [other, request()] }, allowed)._tag, "Refused")
  })
})
