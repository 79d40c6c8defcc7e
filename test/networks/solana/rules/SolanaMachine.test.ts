// What the limits of an API key leave for the fee of a signature, and bytes that another transaction has.
import { assert, describe, it } from "@effect/vitest"
import type { Situation } from "../../../../src/networks/core/Rules.ts"
import type { Solana } from "../../../../src/networks/solana/rules/Solana.ts"
import { decide } from "../../../../src/networks/solana/rules/SolanaDecision.ts"
import { solanaRules } from "../../../../src/networks/solana/rules/SolanaRules.ts"
import { pending, preparation, seen, situation } from "./Situations.ts"

/** A transaction whose fee is from `floor` to 7,000 lamports. */
const limited = (feeLimit: bigint | undefined, transaction = pending, floor = 5000n): Situation<Solana> =>
  situation(
    transaction,
    seen([], { preparation: { ...preparation, fee: { ...preparation.fee, floor } } }),
    feeLimit === undefined ? {} : { terms: { feeLimit } }
  )

const offered = (given: Situation<Solana>) => {
  const [command] = decide(given)
  if (command._tag === "Hold") return command.cause.code
  return command._tag === "Sign" ? [command.maxFee, command.offer.computeUnitPrice] : command._tag
}

describe("what the limits of an API key leave for a fee", () => {
  it("lowers the price of instructions", () => {
    assert.deepStrictEqual(offered(limited(undefined)), [7000n, 100_000n])
    assert.deepStrictEqual(offered(limited(7000n)), [7000n, 100_000n])
    assert.deepStrictEqual(offered(limited(6000n)), [6000n, 50_000n])
  })

  it("holds what costs more at the lowest price, and prebuilt bytes, whose price is fixed", () => {
    assert.strictEqual(offered(limited(4999n)), "priority_fee_above_cap")
    const prebuilt = { ...pending, facts: { isRefreshable: true, isPrebuilt: true } }
    assert.strictEqual(offered(limited(6999n, prebuilt, 7000n)), "priority_fee_above_cap")
  })
})

describe("a fee that is above a cap", () => {
  const scopeOf = (given: Situation<Solana>) => {
    const [command] = decide(given)
    return command._tag === "Hold" ? command.scope : command._tag
  }
  const capped = (cap: bigint, request: object = {}, feeLimit?: bigint): Situation<Solana> => {
    const given = limited(feeLimit, { ...pending, versions: [{ instructions: [], ...request }] }, 7000n)
    return { ...given, view: seen([], { preparation: { ...preparation, fee: { floor: 7000n, offered: 9000n, cap } } }) }
  }

  it("of the relayer holds its later ones; one of the request, or of its API key, holds it alone", () => {
    assert.strictEqual(scopeOf(capped(6000n)), "relayer")
    assert.strictEqual(scopeOf(capped(6000n, { max_fee_lamports: 6000n })), "transaction")
    assert.strictEqual(scopeOf(capped(1_000_000n, {}, 6999n)), "transaction")
  })
})

describe("bytes that another transaction has", () => {
  it("end a prebuilt request, and are varied if the service has built them", () => {
    const end = solanaRules.repeated?.({ ...pending, facts: { isRefreshable: true, isPrebuilt: true } })
    assert.deepStrictEqual([end?.state, end?.cause.code], ["failed", "already_accepted"])
    assert.isUndefined(solanaRules.repeated?.(pending))
  })
})
