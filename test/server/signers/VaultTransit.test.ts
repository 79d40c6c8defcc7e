// Signers whose keys never leave Vault: the requests to Vault, and the checks of its answers.
import { assert, layer } from "@effect/vitest"
import { Effect, Layer } from "effect"
import * as crypto from "node:crypto"
import { operations } from "../../../src/server/signers/backends/Curves.ts"
import { Vault } from "../../../testkit/Vault.ts"
import { badKey, failureOf, fresh, notFound, transit, unexpected } from "./vaults.ts"

layer(Layer.empty)("a key that never leaves Vault", (it) => {
  it.effect("signs in Vault, with the message sent byte for byte", () =>
    Effect.gen(function* () {
      const vault = yield* Vault
      const key = yield* transit()
      const publicKey = yield* key.publicKey("ed25519")
      assert.strictEqual(Buffer.from(publicKey).toString("base64"), vault.publicKey("solana.1"))
      for (const message of [new Uint8Array(0), crypto.randomBytes(1), crypto.randomBytes(1000)]) {
        const signature = yield* key.sign("ed25519", message)
        assert.isTrue(yield* Effect.promise(() => operations.ed25519.verify(publicKey, message, signature)))
      }
      assert.deepStrictEqual([vault.count("login"), vault.count("keys"), vault.count("sign")], [1, 1, 3])
    }).pipe(Effect.provide(fresh))
  )

  it.effect("has no key on secp256k1, which needs no call", () =>
    Effect.gen(function* () {
      const vault = yield* Vault
      const key = yield* transit()
      const curve = ["curve", "the key in Vault is not on this curve"]
      assert.deepStrictEqual(yield* failureOf(key.publicKey("secp256k1")), curve)
      assert.deepStrictEqual(yield* failureOf(key.sign("secp256k1", new Uint8Array(32))), curve)
      assert.deepStrictEqual(vault.seen, [])
    }).pipe(Effect.provide(fresh))
  )

  it.effect("is refused if the key is another one, has another type or does not exist", () =>
    Effect.gen(function* () {
      const vault = yield* Vault
      const key = yield* transit()
      vault.keys.set("solana.1", crypto.generateKeyPairSync("ed25519").privateKey)
      const mismatch = ["mismatch", "is not the public key of the key in Vault"]
      assert.deepStrictEqual(yield* failureOf(key.publicKey("ed25519")), mismatch)
      const onAnotherCurve = crypto.generateKeyPairSync("ec", { namedCurve: "P-256" }).privateKey
      for (const other of [onAnotherCurve, 1_700_000_000]) {
        vault.keys.set("solana.1", other)
        assert.deepStrictEqual(yield* failureOf(key.publicKey("ed25519")), badKey)
      }
      vault.keys.clear()
      assert.deepStrictEqual(yield* failureOf(key.publicKey("ed25519")), notFound)
      assert.deepStrictEqual(yield* failureOf(key.sign("ed25519", new Uint8Array(1))), notFound)
    }).pipe(Effect.provide(fresh))
  )

  it.effect("an answer without a signature is an error", () =>
    Effect.gen(function* () {
      const vault = yield* Vault
      const key = yield* transit()
      vault.faults.set("sign", "wrong shape")
      assert.deepStrictEqual(yield* failureOf(key.sign("ed25519", new Uint8Array(1))), unexpected)
    }).pipe(Effect.provide(fresh))
  )
})
