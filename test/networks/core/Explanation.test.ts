// Every code has a sentence and a next step, with and without its figures.
import { Arbitrary } from "effect"
import { assert, describe, it } from "@effect/vitest"
import { cause, Figures, KnownCode } from "../../../src/networks/core/Cause.ts"
import { explain } from "../../../src/networks/evm/rules/EvmWords.ts"
import * as SolanaWords from "../../../src/networks/solana/rules/SolanaWords.ts"
import * as StellarWords from "../../../src/networks/stellar/rules/StellarWords.ts"

const isSentence = (text: string): boolean => /^[A-Z].*\.$/s.test(text) && !/undefined|NaN|\bnull\b/.test(text)

describe("an explanation", () => {
  for (const code of KnownCode.literals) {
    it.prop(`of ${code} is a sentence and a next step, whatever is known`, [Arbitrary.schema(Figures)], ([figures]) => {
      const reasons = { ...figures, revert_reason: "no" }
      for (const one of [explain(cause(code), false), explain(cause(code, reasons), false)]) {
        assert.isTrue(isSentence(one.reason), one.reason)
        assert.isTrue(isSentence(one.next), one.next)
        for (const text of [one.reason, one.next]) assert.notMatch(text, /^(It|Its|They|Their|This|That) /)
      }
      assert.strictEqual(explain(cause(code), true).next, "Nothing follows: this state is final.")
    })
  }

  it("of an open transaction whose nonce is cleared does not say that it is over", () => {
    for (const code of ["canceled", "refused_by_all", "policy_changed", "gap_filled"] as const) {
      const { reason, next } = explain(cause(code, { hash: "0x5c" }), false)
      assert.include(reason, "a no-op (0x5c) is to use its nonce")
      assert.notInclude(next, "final")
    }
    assert.include(explain(cause("canceled"), true).reason, "has no effect")
  })

  it("of a queued transaction names others only if there are others ahead", () => {
    for (const figures of [{}, { position: 0 }]) {
      assert.strictEqual(explain(cause("queued", figures), false).reason, "The transaction waits for its nonce.")
    }
    assert.include(explain(cause("queued", { position: 2 }), false).reason, "behind 2 transactions")
  })

  it("of a queued transaction of solana or stellar says that those ahead can hold it", () => {
    for (const words of [SolanaWords, StellarWords]) {
      for (const figures of [{}, { position: 0 }]) {
        const { next } = words.explain(cause("queued", figures), false)
        assert.strictEqual(next, "The transaction is signed in the next step of its relayer.")
      }
      const { next, reason } = words.explain(cause("queued", { position: 1 }), false)
      assert.include(reason, "behind 1 transaction ")
      assert.notInclude(next, "next step")
      assert.include(next, "missing funds")
    }
  })

  it("of a transaction whose providers do not answer names one of them and what it did instead", () => {
    const figures = { host: "https://rpc.example.com/***", error: "eth_getTransactionCount: HTTP 500" }
    for (const code of ["providers_unavailable", "rate_limited"] as const) {
      assert.include(explain(cause(code, figures), false).reason, `; ${figures.host}: ${figures.error}.`)
    }
  })

  it("shows the numbers that decide", () => {
    const cap = explain(cause("gas_price_above_cap", { base_fee: 42n, cap: 40n }), false)
    assert.include(cap.reason, "42 wei")
    assert.include(cap.reason, "40 wei")
    const funds = { required: 9n, available: 5n, reserved: 3n, minimum: 1n }
    const short = explain(cause("insufficient_funds", funds), false)
    for (const amount of Object.values(funds)) assert.include(short.reason, `${amount} wei`)
    const mined = explain(cause("mined_waiting", { block: 7, blocks: 3, required_blocks: 12 }), false)
    assert.include(mined.reason, "3 of 12 blocks")
  })
})
