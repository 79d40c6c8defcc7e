// Keys in our hands against the libraries of the chains.
import { assert, describe, it } from "@effect/vitest"
import { secp256k1 } from "@noble/curves/secp256k1"
import { getAddressFromPublicKey } from "@solana/addresses"
import { createKeyPairFromPrivateKeyBytes } from "@solana/keys"
import { Keypair } from "@stellar/stellar-sdk/base"
import { Effect, Exit, Redacted, Result, Schema } from "effect"
import { privateKeyToAccount } from "viem/accounts"
import { recoverAddress } from "viem/utils"
import { PrivateKey } from "../../../src/domain/signer/CreateSigner.ts"
import { addressesOf } from "../../../src/server/signers/SignerKeys.ts"
import * as LocalKey from "../../../src/server/signers/backends/LocalKey.ts"
import { curveOperations } from "../../../src/server/signers/backends/SignerBackend.ts"
import { property } from "../../../testkit/Depth.ts"

const hexOf = (key: Redacted.Redacted) => Redacted.value(key).replace(/^0x/, "")
const bytesOf = (key: Redacted.Redacted) => Buffer.from(hexOf(key), "hex")
const digestOf = (text: string) => Buffer.from(text.padEnd(32, "d")).subarray(0, 32)
const toHex = (bytes: Uint8Array) => `0x${Buffer.from(bytes).toString("hex")}` as const

/** Every bit of it is flipped once. */
const changed = (bytes: Uint8Array) =>
  Array.from({ length: bytes.length }, (_, at) => bytes.map((byte, index) => (index === at ? byte ^ 1 : byte)))

describe("LocalKey", () => {
  it.effect.prop(
    "has the addresses that the libraries of the chains give it",
    [PrivateKey],
    ([key]) =>
      Effect.gen(function* () {
        const solana = yield* Effect.promise(async () => {
          const { publicKey } = await createKeyPairFromPrivateKeyBytes(bytesOf(key))
          return getAddressFromPublicKey(publicKey)
        })
        assert.deepStrictEqual(yield* addressesOf(LocalKey.make(key)), {
          evm: privateKeyToAccount(`0x${hexOf(key)}`).address.toLowerCase(),
          solana,
          stellar: Keypair.fromRawEd25519Seed(bytesOf(key)).publicKey()
        })
      }),
    property()
  )

  it.effect("has addresses only on the network types of its curves", () =>
    Effect.gen(function* () {
      const key = LocalKey.make(Redacted.make("01".repeat(32)))
      const addresses = yield* addressesOf({ ...key, curves: ["ed25519"] })
      assert.sameMembers(Object.keys(addresses), ["solana", "stellar"])
    })
  )

  it.effect.prop(
    "signs digests on secp256k1 so that its address is recovered",
    [PrivateKey, Schema.String],
    ([key, text]) =>
      Effect.gen(function* () {
        const digest = digestOf(text)
        const signature = yield* LocalKey.make(key).sign("secp256k1", digest)
        assert.strictEqual(signature.length, 65)
        assert.include([0, 1], signature[64])
        const account = privateKeyToAccount(`0x${hexOf(key)}`)
        const address = yield* Effect.promise(() =>
          recoverAddress({ hash: toHex(digest), signature: toHex(signature) })
        )
        assert.strictEqual(address, account.address)
        const publicKey = yield* LocalKey.make(key).publicKey("secp256k1")
        assert.strictEqual(toHex(publicKey), account.publicKey)
        assert.isTrue(yield* Effect.promise(() => curveOperations.secp256k1.verify(publicKey, digest, signature)))
      }),
    property()
  )

  it.effect.prop(
    "signs a digest as RFC 6979 says, so that it always gives the same bytes",
    [PrivateKey, Schema.String],
    ([key, text]) =>
      Effect.gen(function* () {
        const digest = digestOf(text)
        const signature = yield* LocalKey.make(key).sign("secp256k1", digest)
        const expected = secp256k1.sign(digest, bytesOf(key), { lowS: true, extraEntropy: false })
        assert.deepStrictEqual([...signature], [...expected.toCompactRawBytes(), expected.recovery])
      }),
    property()
  )

  it.effect.prop(
    "signs messages on ed25519 as Stellar's library does",
    [PrivateKey, Schema.String],
    ([key, text]) =>
      Effect.gen(function* () {
        const message = Buffer.from(text)
        const pair = Keypair.fromRawEd25519Seed(bytesOf(key))
        const signature = yield* LocalKey.make(key).sign("ed25519", message)
        assert.strictEqual(toHex(signature), toHex(pair.sign(message)))
        assert.isTrue(pair.verify(message, signature))
        const publicKey = yield* LocalKey.make(key).publicKey("ed25519")
        assert.strictEqual(toHex(publicKey), toHex(pair.rawPublicKey()))
        assert.isTrue(yield* Effect.promise(() => curveOperations.ed25519.verify(publicKey, message, signature)))
      }),
    property()
  )

  for (const curve of ["secp256k1", "ed25519"] as const) {
    it.effect(`a ${curve} signature, key or message that was changed does not verify`, () =>
      Effect.gen(function* () {
        const local = LocalKey.make(Redacted.make("01".repeat(32)))
        const publicKey = yield* local.publicKey(curve)
        const message = digestOf("a")
        const signature = yield* local.sign(curve, message)
        const verify = (...input: Parameters<(typeof curveOperations)[typeof curve]["verify"]>) =>
          Effect.promise(() => curveOperations[curve].verify(...input))
        assert.isTrue(yield* verify(publicKey, message, signature))
        for (const other of changed(message)) assert.isFalse(yield* verify(publicKey, other, signature))
        for (const other of changed(signature)) assert.isFalse(yield* verify(publicKey, message, other))
        for (const other of changed(publicKey)) {
          const verified = yield* Effect.exit(verify(other, message, signature))
          assert.isFalse(Exit.isSuccess(verified) && verified.value)
        }
        assert.isFalse(yield* verify(publicKey, message, signature.subarray(1)))
      })
    )
  }

  it.effect("the other half of a secp256k1 signature, which evm refuses, does not verify", () =>
    Effect.gen(function* () {
      const order = 0xfffffffffffffffffffffffffffffffebaaedce6af48a03bbfd25e8cd0364141n
      const local = LocalKey.make(Redacted.make("01".repeat(32)))
      const digest = digestOf("a")
      const signature = yield* local.sign("secp256k1", digest)
      const s = order - BigInt(toHex(signature.subarray(32, 64)))
      const other = Buffer.concat([
        signature.subarray(0, 32),
        Buffer.from(s.toString(16).padStart(64, "0"), "hex"),
        Buffer.from([1 - (signature[64] ?? 0)])
      ])
      const publicKey = yield* local.publicKey("secp256k1")
      const address = yield* Effect.promise(() => recoverAddress({ hash: toHex(digest), signature: toHex(other) }))
      assert.strictEqual(address, privateKeyToAccount(`0x${"01".repeat(32)}`).address)
      assert.isFalse(yield* Effect.promise(() => curveOperations.secp256k1.verify(publicKey, digest, other)))
    })
  )

  it.effect("a digest of another length is a mistake of ours", () =>
    Effect.gen(function* () {
      const local = LocalKey.make(Redacted.make("01".repeat(32)))
      assert.isTrue(Exit.hasDies(yield* Effect.exit(local.sign("secp256k1", new Uint8Array(31)))))
      assert.isTrue(Result.isSuccess(yield* Effect.result(local.sign("ed25519", new Uint8Array(31)))))
    })
  )
})
