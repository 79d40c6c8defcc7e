// Signers that cannot be created, and what is said of them.
import { assert, layer } from "@effect/vitest"
import { Effect, Layer } from "effect"
import * as crypto from "node:crypto"
import * as TestApi from "../../../testkit/TestApi.ts"
import { Vault, transitKey } from "../../../testkit/Vault.ts"
import { config, keystore, passphrase, prepared, signers, transitConfig } from "./fixtures.ts"

layer(TestApi.layer().pipe(Layer.provideMerge(Vault.layer)))("signers that cannot be created", (it) => {
  it.effect("a field that is to blame is named when a signer cannot be created", () =>
    Effect.gen(function* () {
      const api = yield* TestApi.TestApi
      const vault = yield* prepared
      vault.keys.set("symmetric", transitKey(1_700_000_000))
      vault.secrets.set("not-a-key", { value: "secret-text" })
      const other = crypto.randomBytes(32).toString("base64")
      const kv = (changes: object) => ({ type: "vault", config: config(vault, changes) })
      const transit = (changes: object) => ({ type: "vault_transit", config: transitConfig(vault, changes) })
      const cases = [
        [{ type: "local", config: { keystore, passphrase: "wrong" } }, "config.passphrase: does not open the keystore"],
        [
          { type: "local", config: { keystore: {}, passphrase } },
          "config.keystore.version: is required (3); config.keystore.crypto: is required"
        ],
        [{ type: "local", config: { keystore: "text", passphrase } }, "config.keystore: is not valid JSON"],
        [
          kv({ address: "http://169.254.169.254" }),
          "config.address: points to a cloud metadata address, which is not allowed"
        ],
        [kv({ address: "http://127.0.0.1:1" }), "config.address: Vault does not answer"],
        [kv({ address: vault.address.replace("/proxied", "/elsewhere") }), "config.secret_id: Vault refuses the login"],
        [kv({ role_id: "another" }), "config.secret_id: Vault refuses the login"],
        [kv({ secret_id: "another" }), "config.secret_id: Vault refuses the login"],
        [kv({ namespace: "another" }), "config.secret_id: Vault refuses the login"],
        [kv({ key_name: "none" }), "config.key_name: Vault has no such key"],
        [kv({ key_name: "not-a-key" }), "config.key_name: Vault has no usable key there"],
        [kv({ mount_point: "another" }), "config.key_name: Vault has no such key"],
        [transit({ key_name: "none" }), "config.key_name: Vault has no such key"],
        [transit({ key_name: "symmetric" }), "config.key_name: Vault has no usable key there"],
        [transit({ pubkey: other }), "config.pubkey: is not the public key of the key in Vault"]
      ] as const
      for (const [body, error] of cases) {
        const answer = yield* api.call(signers, { body })
        assert.strictEqual(answer.status, 400, answer.text)
        assert.strictEqual(answer.json.error, error)
      }
      assert.deepInclude((yield* api.call(signers)).json.pagination as object, { total_items: 0 })
    })
  )
})
