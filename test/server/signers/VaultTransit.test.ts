// Signers whose keys never leave Vault: the requests to Vault, and the checks of its answers.
import { assert, layer } from "@effect/vitest"
import { Effect, Layer } from "effect"
import * as crypto from "node:crypto"
import { curveOperations } from "../../../src/server/signers/backends/SignerBackend.ts"
import type { SignerBackend } from "../../../src/server/signers/backends/SignerBackend.ts"
import { Vault, ed25519, transitKey } from "../../../testkit/Vault.ts"
import { badKey, failureOf, fresh, notFound, openTransit, transit, unexpected } from "./vaults.ts"

/** A signer whose key Vault has rotated since, and its public key. */
const rotated = Effect.gen(function* () {
  const vault = yield* Vault
  const key = yield* transit()
  const pubkey = vault.publicKey("solana.1")
  const stored = vault.keys.get("solana.1") ?? assert.fail("no key")
  stored.versions.push(ed25519())
  return { vault, key, pubkey, stored }
})

const message = Buffer.from("a")

const signs = Effect.fnUntraced(function* ({ sign }: SignerBackend, pubkey: string) {
  const signature = yield* sign("ed25519", message)
  const publicKey = Buffer.from(pubkey, "base64")
  assert.isTrue(yield* Effect.promise(() => curveOperations.ed25519.verify(publicKey, message, signature)))
})

const inspectionOf = ({ inspect }: SignerBackend) => inspect ?? assert.fail("the key cannot be inspected")

layer(Layer.empty)("a key that Vault has rotated", (it) => {
  it.effect("signs with the version that has the public key of the signer, whichever is the newest", () =>
    Effect.gen(function* () {
      const { key, pubkey, stored, vault } = yield* rotated
      yield* signs(key, pubkey)
      stored.versions.push(ed25519())
      yield* signs(key, pubkey)
      yield* signs(yield* openTransit({ pubkey: vault.publicKey("solana.1", 2) }), vault.publicKey("solana.1", 2))
      const input = message.toString("base64")
      assert.deepStrictEqual(
        vault.signings,
        [1, 1, 2].map((key_version) => ({ input, key_version }))
      )
    }).pipe(Effect.provide(fresh))
  )

  it.effect("has the warning that the signer does not use the newer version", () =>
    Effect.gen(function* () {
      const { key, pubkey, vault } = yield* rotated
      const publicKey = Buffer.from(pubkey, "base64")
      const { warning, ...inspected } = yield* inspectionOf(key)
      assert.deepStrictEqual(inspected, { publicKey: new Uint8Array(publicKey), state: "version 1 of 2" })
      assert.strictEqual(warning, "the key has a newer version, which this signer does not use")
      const newest = yield* inspectionOf(yield* openTransit({ pubkey: vault.publicKey("solana.1") }))
      assert.deepStrictEqual([newest.state, newest.warning], ["version 2 of 2", undefined])
    }).pipe(Effect.provide(fresh))
  )

  it.effect("is not used if Vault answers with the signature of another version", () =>
    Effect.gen(function* () {
      const { key, vault } = yield* rotated
      vault.faults.set("sign", "newest")
      const other = ["unexpected", "Vault has signed with another version of the key"]
      assert.deepStrictEqual(yield* failureOf(key.sign("ed25519", message)), other)
    }).pipe(Effect.provide(fresh))
  )

  it.effect("is reported in words when its old version may no longer sign, and signs once it may again", () =>
    Effect.gen(function* () {
      const { key, pubkey, stored } = yield* rotated
      const noLonger = "version 1 of the key in Vault may no longer sign"
      stored.minEncryption = 2
      const described = ["bad_key", `${noLonger}: min_encryption_version of the key is 2`]
      assert.deepStrictEqual(yield* failureOf(inspectionOf(key)), described)
      assert.deepStrictEqual(yield* failureOf(key.publicKey("ed25519")), described)
      stored.minEncryption = 0
      yield* signs(key, pubkey)
      stored.minEncryption = 2
      const tooOld = ["bad_key", `${noLonger}: it is below min_encryption_version of the key`]
      assert.deepStrictEqual(yield* failureOf(key.sign("ed25519", message)), tooOld)
      stored.minEncryption = 0
      yield* signs(key, pubkey)
      stored.minDecryption = 2
      const archived = ["bad_key", `${noLonger}: it is below min_decryption_version of the key`]
      assert.deepStrictEqual(yield* failureOf(key.sign("ed25519", message)), archived)
      const unknown =
        "is not the public key of a version from 2 on of the key in Vault: older ones may no longer sign (min_decryption_version)"
      assert.deepStrictEqual(yield* failureOf(inspectionOf(key)), ["mismatch", unknown])
      stored.minDecryption = 1
      yield* signs(key, pubkey)
    }).pipe(Effect.provide(fresh))
  )

  it.effect("is found again after another key has taken its name and it is back", () =>
    Effect.gen(function* () {
      const { key, pubkey, stored, vault } = yield* rotated
      yield* signs(key, pubkey)
      vault.keys.set("solana.1", transitKey())
      yield* Effect.flip(key.sign("ed25519", message))
      vault.keys.set("solana.1", transitKey(ed25519(), ...stored.versions))
      yield* signs(key, pubkey)
    }).pipe(Effect.provide(fresh))
  )
})

layer(Layer.empty)("a key that never leaves Vault", (it) => {
  it.effect("signs in Vault, with the message sent byte for byte", () =>
    Effect.gen(function* () {
      const vault = yield* Vault
      const key = yield* transit()
      const publicKey = yield* key.publicKey("ed25519")
      assert.strictEqual(Buffer.from(publicKey).toString("base64"), vault.publicKey("solana.1"))
      for (const bytes of [new Uint8Array(0), crypto.randomBytes(1), crypto.randomBytes(1000)]) {
        const signature = yield* key.sign("ed25519", bytes)
        assert.isTrue(yield* Effect.promise(() => curveOperations.ed25519.verify(publicKey, bytes, signature)))
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
      vault.keys.set("solana.1", transitKey(ed25519()))
      const mismatch = ["mismatch", "is not the public key of the key in Vault"]
      assert.deepStrictEqual(yield* failureOf(key.publicKey("ed25519")), mismatch)
      const onAnotherCurve = crypto.generateKeyPairSync("ec", { namedCurve: "P-256" }).privateKey
      for (const other of [onAnotherCurve, 1_700_000_000]) {
        vault.keys.set("solana.1", transitKey(other))
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
