// Rules about a nonce that another transaction used: what proves it, and what follows.
import { assert, describe, it } from "@effect/vitest"
import { cause } from "../../../../src/networks/core/Cause.ts"
import { indexPatience } from "../../../../src/networks/evm/rules/EvmNumbers.ts"
import { attempt, now, submitted } from "./Fixtures.ts"
import { fetched, onTaker } from "./Takers.ts"
import { address, receiver } from "./simulation/World.ts"

describe("the proof that a nonce is taken", () => {
  it("only a fetched transaction that is deep, confirmed by both providers and not an attempt is a proof", () => {
    assert.strictEqual(onTaker(fetched()), "Requeue nonce_taken")
    assert.strictEqual(onTaker(fetched({ second: "not_configured" })), "Requeue nonce_taken")
    assert.strictEqual(onTaker(fetched({ hash: "hash-1" })), "Hold transaction mined_waiting")
    assert.strictEqual(onTaker(fetched({ block: 199 })), "PollAt none")
    assert.strictEqual(onTaker(fetched({ sender: receiver })), "Hold transaction nonce_taken_unproven")
    assert.strictEqual(onTaker(fetched({ nonce: 4 })), "Hold transaction nonce_taken_unproven")
    const other = { hash: "other", finalHeight: 198 }
    assert.strictEqual(onTaker(fetched({ second: other })), "Hold transaction nonce_taken_unproven")
    const shallow = { hash: "block-150", finalHeight: 149 }
    assert.strictEqual(onTaker(fetched({ second: shallow })), "Hold transaction nonce_taken_unproven")
    assert.strictEqual(onTaker({ _tag: "NotFound" }), "Hold transaction nonce_taken_unproven")
  })

  it("an authorization of the account in a deep block that both providers have is a proof", () => {
    const authorized = { _tag: "Authorized", block: 150, blockHash: "block-150" } as const
    const second = { hash: "block-150", finalHeight: 198 }
    assert.strictEqual(onTaker({ ...authorized, second }), "Requeue nonce_taken")
    assert.strictEqual(onTaker({ ...authorized, second: "not_configured" }), "Requeue nonce_taken")
    assert.strictEqual(onTaker({ ...authorized, block: 199, second }), "PollAt none")
    const other = { ...second, hash: "other" }
    assert.strictEqual(onTaker({ ...authorized, second: other }), "Hold transaction nonce_taken_unproven")
    assert.strictEqual(onTaker(authorized), "Hold transaction nonce_taken_unproven")
  })

  it("an index that lags proves nothing, and asks an operator only after ten minutes", () => {
    const behind = (milliseconds: number) => onTaker({ _tag: "Behind", since: now - milliseconds })
    assert.strictEqual(onTaker({ _tag: "Behind" }), "PollAt none")
    assert.strictEqual(behind(29_999), "PollAt none")
    assert.strictEqual(behind(60_000), "Hold transaction providers_unavailable")
    assert.strictEqual(behind(indexPatience - 1), "Hold transaction providers_unavailable")
    assert.strictEqual(behind(indexPatience), "Hold transaction nonce_taken_unproven")
    for (const intent of ["cancel", "expire"] as const) {
      assert.strictEqual(onTaker({ _tag: "Behind" }, submitted({ intent })), "PollAt none")
    }
  })

  it("a request gets a new nonce three times at most, and one with a required nonce never", () => {
    assert.strictEqual(onTaker(fetched(), submitted({ requeues: 2 })), "Requeue nonce_taken")
    assert.strictEqual(onTaker(fetched(), submitted({ requeues: 3 })), "Finish failed nonce_taken_too_often")
    assert.strictEqual(onTaker(fetched(), submitted({ requiredNonce: 5 })), "Finish failed nonce_unavailable")
    assert.strictEqual(onTaker(fetched(), submitted({ intent: "cancel" })), "Finish canceled canceled")
    assert.strictEqual(onTaker(fetched(), submitted({ intent: "expire" })), "Finish expired deadline_passed")
  })

  it("a no-op at a nonce of the request could be one that the ledger has forgotten", () => {
    const noop = { to: address, value: 0n, data: "0x", isNoop: true }
    assert.strictEqual(onTaker(fetched({ call: { ...noop, nonce: 5 } })), "Requeue restored_unproven")
    assert.strictEqual(onTaker(fetched({ call: { ...noop, nonce: 4 } })), "Requeue nonce_taken")
    const former = submitted({ attempts: [attempt(1, { nonce: 4 }), attempt(2)] })
    assert.strictEqual(onTaker(fetched({ call: { ...noop, nonce: 4 } }), former), "Requeue restored_unproven")
  })

  it("nothing gets another nonce while another used nonce of the account is unexplained", () => {
    const unexplained = cause("nonce_unexplained", { nonce: 4, count: 6 })
    for (const doubt of [{ stop: unexplained }, { ownStop: unexplained }, { unsettledBefore: now + 1 }]) {
      assert.strictEqual(onTaker(fetched(), submitted(), doubt), "Hold transaction nonce_unexplained")
    }
    assert.strictEqual(onTaker(fetched(), submitted(), { unsettledBefore: now }), "Requeue nonce_taken")
  })
})
