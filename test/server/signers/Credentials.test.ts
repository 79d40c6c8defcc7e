// The login of a signer at its key service is replaced after a rotation.
import { assert } from "@effect/vitest"
import { Effect, Layer } from "effect"
import { layerEach } from "../../../testkit/layerEach.ts"
import * as TestApi from "../../../testkit/TestApi.ts"
import { Vault, secretId } from "../../../testkit/Vault.ts"
import { config, key, prepared, signers, transitConfig } from "./fixtures.ts"

const rotated = "secret-after-rotation"

const replace = (id: string, body: object, more: object = {}) =>
  Effect.flatMap(TestApi.TestApi, ({ call }) => call(`${signers}/${id}/credentials`, { method: "PUT", body, ...more }))

const steps = Effect.map(
  Effect.flatMap(TestApi.TestApi, ({ call }) => call(`${signers}/vault/verify`, { method: "POST" })),
  ({ json }) => (json.data as { readonly verified: boolean }).verified
)

/** A signer whose key is in Vault, where the secret id has been rotated since. */
const rotatedVault = Effect.gen(function* () {
  const { call } = yield* TestApi.TestApi
  const vault = yield* prepared
  vault.login.secretId = secretId
  const { status, text } = yield* call(signers, { body: { id: "vault", type: "vault", config: config(vault) } })
  assert.strictEqual(status, 201, text)
  vault.login.secretId = rotated
  vault.revokeTokens()
  assert.isFalse(yield* steps)
  return vault
})

layerEach(Layer.provideMerge(TestApi.layer(), Vault.layer))("the login of a signer", (it) => {
  it.effect("is replaced, and the next signature uses the new one", () =>
    Effect.gen(function* () {
      const { call } = yield* TestApi.TestApi
      const vault = yield* rotatedVault
      const before = (yield* call(`${signers}/vault`)).json.data
      const { status, json, text } = yield* replace("vault", {
        type: "vault",
        config: config(vault, { secret_id: rotated })
      })
      assert.strictEqual(status, 200, text)
      assert.deepStrictEqual(json.data, before)
      assert.notInclude(text, rotated)
      assert.isTrue(yield* steps)
      const { json: audit, text: recorded } = yield* call("/api/v1/audit?action=signer.credentials_replaced")
      assert.lengthOf(audit.data as ReadonlyArray<unknown>, 1)
      assert.notInclude(recorded, rotated)
    })
  )

  it.effect("stays if the new one is wrong, or leads to another key", () =>
    Effect.gen(function* () {
      const vault = yield* rotatedVault
      const wrong = yield* replace("vault", { type: "vault", config: config(vault) })
      assert.deepStrictEqual([wrong.status, wrong.json.error], [400, "config.secret_id: Vault refuses the login"])
      vault.secrets.set("hot/other", { value: "0a".repeat(32) })
      const other = yield* replace("vault", {
        type: "vault",
        config: config(vault, { secret_id: rotated, key_name: "hot/other" })
      })
      const error = "config: leads to another key than that of the signer"
      assert.deepStrictEqual([other.status, other.json.error], [400, error])
      assert.isFalse(yield* steps)
      vault.login.secretId = secretId
      assert.isTrue(yield* steps)
    })
  )

  it.effect("stays if the key does not sign with the new one", () =>
    Effect.gen(function* () {
      const { call } = yield* TestApi.TestApi
      const vault = yield* prepared
      vault.login.secretId = secretId
      const body = { type: "vault_transit", config: transitConfig(vault) }
      assert.strictEqual((yield* call(signers, { body: { id: "transit", ...body } })).status, 201)
      vault.faults.set("sign", 403)
      const { status, json } = yield* replace("transit", body)
      assert.deepStrictEqual([status, json.error?.startsWith("config: ")], [400, true])
      vault.faults.clear()
      assert.strictEqual((yield* replace("transit", body)).status, 200)
    })
  )

  it.effect("belongs to its type, and a signer that stores its key has none", () =>
    Effect.gen(function* () {
      const { call } = yield* TestApi.TestApi
      const vault = yield* rotatedVault
      yield* call(signers, { body: { id: "plain", type: "plain", config: { key } } })
      const transit = { type: "vault_transit", config: transitConfig(vault) }
      const answers = [
        yield* replace("vault", transit),
        yield* replace("plain", transit),
        yield* replace("plain", { type: "plain", config: {} }),
        yield* replace("nobody", transit)
      ]
      assert.deepStrictEqual(
        answers.map(({ status, json }) => [status, json.error]),
        [
          [400, "type: must be vault, the type of the signer"],
          [400, "type: must be plain, the type of the signer"],
          [
            400,
            "type: Expected vault, vault_transit, pkcs11, google_cloud_kms, azure_key_vault or turnkey; config.key: is required (an object with location, key_ring_id, key_id, key_version)"
          ],
          [404, undefined]
        ]
      )
    })
  )

  it.effect("is not replaced by a key with transaction_limits", () =>
    Effect.gen(function* () {
      const { call } = yield* TestApi.TestApi
      const vault = yield* rotatedVault
      const made = yield* call("/api/v1/api-keys", {
        body: { name: "limited", scopes: ["signers:write"], transaction_limits: { max_value: "1" } }
      })
      const { key: limited } = made.json.data as { readonly key: string }
      const body = { type: "vault", config: config(vault, { secret_id: rotated }) }
      assert.strictEqual((yield* replace("vault", body, { key: limited })).status, 403)
    })
  )
})
