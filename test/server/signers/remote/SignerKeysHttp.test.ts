// A request for a signer whose key SIGNER_KEYS does not allow.
import { assert } from "@effect/vitest"
import { Effect, Layer } from "effect"
import { layerEach } from "../../../../testkit/layerEach.ts"
import * as AwsKms from "../../../../testkit/signers/AwsKms.ts"
import { StandIn } from "../../../../testkit/signers/StandIn.ts"
import * as TestApi from "../../../../testkit/TestApi.ts"

const limited = Layer.provideMerge(
  TestApi.layer({ signers: { keys: ["arn:aws:kms:eu-west-1:999999999999"] } }),
  AwsKms.layer
)

layerEach(limited)("SIGNER_KEYS", (it) => {
  it.effect("refuses other keys of the service's login", () =>
    Effect.gen(function* () {
      const { count, request } = yield* StandIn
      const { status, json } = yield* (yield* TestApi.TestApi).call("/api/v1/signers", { body: request("secp256k1") })
      assert.deepStrictEqual(
        [status, json.error],
        [400, "config.key_id: SIGNER_KEYS allows no usable key with this name"]
      )
      assert.strictEqual(count("sign"), 0)
    })
  )
})
