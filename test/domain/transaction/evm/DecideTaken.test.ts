// Rules about a nonce that another transaction used: what proves it, and what follows.
import { assert, describe, it } from "@effect/vitest"
import type { SilentBatch } from "../../../../src/domain/transaction/evm/View.ts"
import { attempt, submitted } from "./Fixtures.ts"
import { receiver } from "./simulation/World.ts"
import { fetched, onTaker } from "./Takers.ts"

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

  it("silence is a proof only from two providers, each with its own count and without any of the attempts", () => {
    const two = submitted({ attempts: [attempt(1), attempt(2)] })
    const silent: SilentBatch = { count: 6, absent: new Set(["hash-1", "hash-2"]) }
    const on = (first: SilentBatch, second?: SilentBatch) =>
      onTaker({ _tag: "Silent", first, ...(second === undefined ? {} : { second }) }, two)
    // What used the nonce was not seen, so it could be an attempt that the ledger has forgotten.
    assert.strictEqual(on(silent, silent), "Requeue restored_unproven")
    assert.strictEqual(on(silent), "Hold transaction nonce_taken_unproven")
    assert.strictEqual(on(silent, { ...silent, count: 5 }), "Hold transaction nonce_taken_unproven")
    assert.strictEqual(on(silent, { ...silent, absent: new Set(["hash-2"]) }), "Hold transaction nonce_taken_unproven")
  })

  it("a request gets a new nonce three times at most, and one with a required nonce never", () => {
    assert.strictEqual(onTaker(fetched(), submitted({ requeues: 2 })), "Requeue nonce_taken")
    assert.strictEqual(onTaker(fetched(), submitted({ requeues: 3 })), "Finish failed nonce_taken_too_often")
    assert.strictEqual(onTaker(fetched(), submitted({ requiredNonce: 5 })), "Finish failed nonce_unavailable")
    assert.strictEqual(onTaker(fetched(), submitted({ intent: "cancel" })), "Finish canceled canceled")
    assert.strictEqual(onTaker(fetched(), submitted({ intent: "expire" })), "Finish expired deadline_passed")
  })
})
