// Where links of events and audit records in the console lead.
import { assert, describe, it } from "@effect/vitest"
import { pageOf } from "../../web/src/data/ResourcePages.ts"

describe("what an event or an audit record is about", () => {
  it("has the page of its kind, whatever its id has", () => {
    assert.strictEqual(pageOf({ type: "relayer.disabled", id: "a/b" }), "/console/relayers/a%2Fb")
    assert.strictEqual(pageOf({ type: "network.updated", id: "evm:dev" }), "/console/networks/evm%3Adev")
    assert.strictEqual(pageOf({ type: "notification.tested", id: "ops" }), "/console/webhooks/ops")
    assert.strictEqual(pageOf({ type: "claim.finalized", id: "x402:1" }), "/console/claims/x402%3A1")
  })

  it("has no page if it was deleted, or if no page shows its kind", () => {
    assert.isUndefined(pageOf({ type: "signer.deleted", id: "s" }))
    assert.isUndefined(pageOf({ type: "session.created", id: "s" }))
  })

  it("has no page if it is a signature that a caller got, which is no transaction of the service", () => {
    const id = "4f1c2c9e-8f0b-4c56-9d5e-0a7b1f1f2a3b"
    assert.strictEqual(pageOf({ type: "transaction.signed", id }), `/console/transactions/${id}`)
    assert.isUndefined(pageOf({ type: "transaction.signed", id: "5VERv8NMvzbJMEkV8xnrLkEaWRtSz9Cos" }))
  })
})
