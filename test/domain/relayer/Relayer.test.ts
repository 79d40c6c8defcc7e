// The fields of a request to create a relayer.
import { assert, describe, it } from "@effect/vitest"
import { Result, Schema } from "effect"
import { CreateRelayer } from "../../../src/domain/relayer/Relayer.ts"

describe("a request to create a relayer", () => {
  const strict = Schema.decodeUnknownResult(CreateRelayer, { errors: "all", onExcessProperty: "error" })

  it.prop("an unknown key is refused at every level", [CreateRelayer], ([relayer]) => {
    const encoded = Schema.encodeSync(CreateRelayer)(relayer)
    assert.isTrue(Result.isFailure(strict({ ...encoded, unknown: 1 })))
    assert.isTrue(Result.isFailure(strict({ ...encoded, policies: { ...encoded.policies, unknown: 1 } })))
  })

  it.prop("a required key that is missing or null is refused", [CreateRelayer], ([relayer]) => {
    const encoded: Record<string, unknown> = { ...Schema.encodeSync(CreateRelayer)(relayer) }
    for (const key of ["name", "network", "network_type", "paused", "signer_id"]) {
      const { [key]: _, ...without } = encoded
      assert.isTrue(Result.isFailure(strict(without)), `without ${key}`)
      assert.isTrue(Result.isFailure(strict({ ...encoded, [key]: null })), `${key}: null`)
    }
  })

  it("null in an optional key counts as absent", () => {
    const minimal = { name: "a", network: "sepolia", network_type: "evm", paused: false, signer_id: "s" }
    const nulls = { id: null, notification_id: null, custom_rpc_urls: null, policies: null }
    assert.deepStrictEqual(strict({ ...minimal, ...nulls }), strict(minimal))
    assert.isTrue(Result.isSuccess(strict(minimal)))
  })
})
