// What a policy of stellar means: one function for sends, signatures and simulations.
import { assert, describe, it } from "@effect/vitest"
import type { StellarPolicy } from "../../../../src/domain/relayer/Policy.ts"
import { guardTermsOf } from "../../../../src/networks/stellar/rules/StellarTerms.ts"

const termsOf = (policies: StellarPolicy, asked?: bigint) => guardTermsOf({ relayer: { policies } }, asked)

describe("the terms of envelopes", () => {
  it("take the lower fee of request and policy, or a million stroops", () => {
    const caps = [termsOf({}), termsOf({ max_fee: 100 }), termsOf({ max_fee: 100 }, 7n)].map(({ cap }) => cap)
    assert.deepStrictEqual(caps, [1_000_000n, 100n, 7n])
  })

  it("allow no token, no further operation and the standard subentries if the policy is empty", () => {
    assert.deepInclude(termsOf({}), { strategy: "relayer", allowedOperations: [], allowedTokens: [] })
    assert.deepStrictEqual(guardTermsOf({ relayer: {} }, undefined), termsOf({}))
  })

  it("have a shorter time limit if users pay, because the present price is used", () => {
    const [own, sponsored] = [termsOf({}), termsOf({ fee_payment_strategy: "user" })]
    assert.strictEqual(sponsored.strategy, "user")
    assert.isBelow(sponsored.timeLimit, own.timeLimit)
  })
})
