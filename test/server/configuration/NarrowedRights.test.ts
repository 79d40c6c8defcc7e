// An apply needs the rights of its caller at the apply: a plan that was made with more rights changes nothing.
import { assert } from "@effect/vitest"
import { Effect } from "effect"
import { layerEach } from "../../../testkit/layerEach.ts"
import * as TestApi from "../../../testkit/TestApi.ts"
import { applied, apply, call, rows } from "./requests.ts"

const limits = { max_value: "1000" }

const expiry = "2100-01-01T00:00:00Z"

const document = {
  version: 1,
  name: "team",
  notifications: { ops: { url: "https://hooks.example.com/relayer" } },
  api_keys: {
    worker: { name: "W", scopes: ["signers:read"], expires_at: expiry, transaction_limits: limits }
  }
}

const caller = {
  id: "ci",
  name: "CI",
  scopes: ["notifications:*", "api-keys:*", "relayers:read", "signers:read"],
  expires_at: expiry,
  transaction_limits: limits
}

/** How the rights are narrowed, and what the apply is answered. */
const narrowed: ReadonlyArray<readonly [name: string, patch: object, status: number, text: string]> = [
  ["the scope of a section", { scopes: ["api-keys:*", "relayers:read", "signers:read"] }, 403, "Forbidden"],
  [
    "a scope of the new key",
    { scopes: ["notifications:*", "api-keys:*", "relayers:read"] },
    422,
    "api_keys.worker.scopes: the caller lacks signers:read"
  ],
  ["all relayers", { scopes: ["relayers:read"], relayer_ids: ["only-this"] }, 403, "Forbidden"],
  [
    "its expiry",
    { expires_at: "2099-01-01T00:00:00Z" },
    422,
    "api_keys.worker.expires_at: must not be absent or later"
  ],
  ["its limits", { transaction_limits: { max_value: "999" } }, 422, "api_keys.worker.transaction_limits"]
]

const keyOf = (answer: TestApi.Answer) => {
  assert.strictEqual(answer.status, 201, answer.text)
  return (answer.json.data as { readonly key: string }).key
}

layerEach(TestApi.layer())("rights that are narrowed between plan and apply", (it) => {
  for (const [name, patch, expected, text] of narrowed) {
    it.effect(`refuse the apply, and nothing is written: ${name}`, () =>
      Effect.gen(function* () {
        yield* call("/api/v1/signers", { body: { id: "hot", type: "plain" } })
        const relayer = { id: "only-this", name: "R", network_type: "evm", network: "sepolia", signer_id: "hot" }
        yield* call("/api/v1/relayers", { body: { ...relayer, paused: true } })
        const key = keyOf(yield* call("/api/v1/api-keys", { body: caller }))
        let before: string | undefined
        const narrow = Effect.gen(function* () {
          const patched = yield* call("/api/v1/api-keys/ci", { method: "PATCH", body: patch })
          assert.strictEqual(patched.status, 200, patched.text)
          before = yield* Effect.orDie(rows)
        })
        const answer = yield* apply(document, {}, { key, before: narrow })
        assert.strictEqual(answer.status, expected, answer.text)
        assert.include(answer.text, text)
        assert.strictEqual(yield* rows, before)
        assert.isDefined(before)
      })
    )
  }

  it.effect("a deleted key applies nothing, and unchanged rights apply the plan", () =>
    Effect.gen(function* () {
      const key = keyOf(yield* call("/api/v1/api-keys", { body: caller }))
      const gone = call("/api/v1/api-keys/ci", { method: "DELETE" })
      assert.strictEqual((yield* apply(document, {}, { key, before: gone })).status, 401)
      const next = keyOf(yield* call("/api/v1/api-keys", { body: { ...caller, id: "next" } }))
      assert.lengthOf((yield* applied(document, {}, { key: next })).changed, 2)
    })
  )
})
