// Keystores open to their passphrase, and those that would cost too much are refused before any work.
import { assert, layer } from "@effect/vitest"
import { Effect, Layer, Redacted, Schema } from "effect"
import * as nodeCrypto from "node:crypto"
import { PrivateKey } from "../../../src/domain/signer/CreateSigner.ts"
import { keystoreOpener } from "../../../src/server/signers/backends/LocalKey.ts"
import { KeyDerivation } from "../../../src/threads/KeyDerivation.ts"
import * as keystores from "../../../testkit/keystores.ts"

const open = (keystore: unknown, passphrase: string) =>
  Effect.flatMap(KeyDerivation, (derivations) =>
    keystoreOpener(derivations)(
      Redacted.make(typeof keystore === "string" ? keystore : JSON.stringify(keystore)),
      Redacted.make(passphrase)
    )
  ).pipe(Effect.catchTag("ServiceUnavailable", Effect.die), Effect.map(Redacted.value))

const errorOf = (keystore: unknown, passphrase = "p") =>
  Effect.map(Effect.flip(open(keystore, passphrase)), ({ error }) => error)

const key = Buffer.alloc(32, 1)
const good = keystores.make(key, "p")
const crypto = (changes: object) => ({ ...good, crypto: { ...good.crypto, ...changes } })
const scrypt = (changes: object) => crypto({ kdfparams: { ...good.crypto.kdfparams, ...changes } })
const pbkdf2 = (changes: object) =>
  crypto({ kdf: "pbkdf2", kdfparams: { c: 1, dklen: 32, prf: "hmac-sha256", salt: "ab", ...changes } })

/** Without a thread, which takes longer to start than these derivations take. */
const inProcess = Layer.succeed(
  KeyDerivation,
  KeyDerivation.of({
    derive: (derivation) =>
      Effect.sync(() => {
        if (derivation.kdf === "pbkdf2") throw new Error("unused")
        const { passphrase, salt, n, r, p } = derivation
        return nodeCrypto.scryptSync(passphrase, salt, 32, { N: n, r, p })
      })
  })
)

/** The worst of these would take minutes. */
const unusable: Record<string, readonly [keystore: unknown, error: string]> = {
  "no JSON": ["{", "config.keystore: is not valid JSON"],
  "a number": ["1", "config.keystore: Expected an object"],
  "brackets in brackets": ["[".repeat(16_000), "config.keystore: "],
  "version 1": [{ ...good, version: 1 }, "config.keystore.version: Expected 3"],
  "no crypto": [{ version: 3 }, "config.keystore.crypto: is required"],
  "another derivation": [
    crypto({ kdf: "argon2id" }),
    "config.keystore.crypto: Expected aes-128-ctr as cipher, and scrypt or pbkdf2"
  ],
  "another cipher": [crypto({ cipher: "aes-128-cbc" }), "config.keystore.crypto: Expected aes-128-ctr as cipher"],
  "a short vector": [
    crypto({ cipherparams: { iv: "ab" } }),
    "config.keystore.crypto.cipherparams.iv: Expected 16 bytes"
  ],
  "a ciphertext of 31 bytes": [
    crypto({ ciphertext: "ab".repeat(31) }),
    "config.keystore.crypto.ciphertext: Expected 32 bytes"
  ],
  "a MAC that is no hex": [crypto({ mac: "x".repeat(64) }), "config.keystore.crypto.mac: Expected 32 bytes"],
  "no salt": [scrypt({ salt: "" }), "config.keystore.crypto.kdfparams.salt: Expected 1 to 128 bytes"],
  "a salt of a kilobyte": [scrypt({ salt: "ab".repeat(1024) }), "config.keystore.crypto.kdfparams.salt: Expected 1 to"],
  "a key of a gigabyte": [scrypt({ dklen: 2 ** 30 }), "config.keystore.crypto.kdfparams.dklen: Expected 32"],
  "n that is no power of two": [scrypt({ n: 1000 }), "config.keystore.crypto.kdfparams.n: Expected a power of two"],
  "n of 1": [scrypt({ n: 1 }), "config.keystore.crypto.kdfparams.n: Expected an integer from"],
  "n of 2^30": [scrypt({ n: 2 ** 30 }), "config.keystore.crypto.kdfparams.n: Expected an integer from"],
  "n of 2^62": [scrypt({ n: 2 ** 62 }), "config.keystore.crypto.kdfparams.n: "],
  "r of 2^20": [scrypt({ r: 2 ** 20 }), "config.keystore.crypto.kdfparams.r: Expected an integer from"],
  "p of 2^20": [scrypt({ p: 2 ** 20 }), "config.keystore.crypto.kdfparams.p: Expected an integer from"],
  "p of 0": [scrypt({ p: 0 }), "config.keystore.crypto.kdfparams.p: Expected an integer from"],
  "a gigabyte of memory": [scrypt({ n: 2 ** 18, r: 32 }), "config.keystore.crypto.kdfparams.n: is too expensive"],
  "seconds of work": [scrypt({ n: 2 ** 18, r: 8, p: 2 }), "config.keystore.crypto.kdfparams.n: is too expensive"],
  "ten million iterations": [pbkdf2({ c: 10_000_000 }), "config.keystore.crypto.kdfparams.c: Expected an integer from"],
  "no iteration": [pbkdf2({ c: 0 }), "config.keystore.crypto.kdfparams.c: Expected an integer from"],
  "another digest": [pbkdf2({ prf: "hmac-md5" }), `config.keystore.crypto.kdfparams.prf: Expected hmac-sha256`]
}

layer(KeyDerivation.layer)("a keystore of a wallet", (it) => {
  it.effect("opens the examples of its definition", () =>
    Effect.gen(function* () {
      assert.strictEqual(yield* open(keystores.byPbkdf2, keystores.passphrase), keystores.privateKey)
      assert.strictEqual(yield* open(keystores.byScrypt, keystores.passphrase), keystores.privateKey)
    })
  )

  it.effect("opens a keystore of go-ethereum with its full cost", () =>
    Effect.gen(function* () {
      const keystore = { ...keystores.byScrypt, crypto: { ...keystores.byScrypt.crypto } }
      Object.assign(keystore.crypto, { kdfparams: { ...keystore.crypto.kdfparams, n: 2 ** 18, r: 8, p: 1 } })
      assert.strictEqual(yield* errorOf(keystore), "config.passphrase: does not open the keystore")
    })
  )
})

layer(inProcess)("a keystore", (it) => {
  it.effect.prop(
    "gives back the key that went in, to the passphrase that it went in with and to no other",
    [PrivateKey, Schema.String],
    ([key, passphrase]) =>
      Effect.gen(function* () {
        const hex = Redacted.value(key).replace(/^0x/, "").toLowerCase()
        const keystore = keystores.make(Buffer.from(hex, "hex"), passphrase)
        assert.strictEqual(yield* open(keystore, passphrase), hex)
        assert.strictEqual(yield* errorOf(keystore, `${passphrase}x`), "config.passphrase: does not open the keystore")
      })
  )

  it.effect("accepts `Crypto` and unknown fields of wallets", () =>
    Effect.gen(function* () {
      const { crypto, ...rest } = good
      assert.strictEqual(yield* open({ ...rest, Crypto: crypto, "x-wallet": { name: "a" } }, "p"), key.toString("hex"))
    })
  )

  it.effect("a ciphertext that was changed does not open", () =>
    Effect.gen(function* () {
      const ciphertext = good.crypto.ciphertext.replace(/^../, (byte) => (byte === "00" ? "01" : "00"))
      assert.strictEqual(yield* errorOf(crypto({ ciphertext })), "config.passphrase: does not open the keystore")
    })
  )

  it.effect("a key that no curve has is refused", () =>
    Effect.gen(function* () {
      for (const byte of [0, 255]) {
        const keystore = keystores.make(Buffer.alloc(32, byte), "p")
        assert.strictEqual(yield* errorOf(keystore), "config.keystore: contains no usable key")
      }
    })
  )

  for (const [name, [keystore, error]] of Object.entries(unusable)) {
    it.effect(
      `${name}: ${error}`,
      () =>
        Effect.gen(function* () {
          const found = yield* errorOf(keystore)
          assert.isTrue(found?.startsWith(error), found)
        }),
      5000
    )
  }
})
