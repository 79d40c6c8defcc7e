// Public keys and signatures in the formats of key services.
import { assert, describe, it } from "@effect/vitest"
import { secp256k1 } from "@noble/curves/secp256k1"
import { Effect } from "effect"
import * as crypto from "node:crypto"
import * as Decode from "../../../../src/server/signers/backends/Decode.ts"
import * as Keys from "../../../../testkit/signers/Keys.ts"

const pemOf = (der: Uint8Array) =>
  crypto.createPublicKey({ key: Buffer.from(der), format: "der", type: "spki" }).export({ format: "pem", type: "spki" })

/** A key whose x, or y, starts with a zero, as the JWK of a key service that leaves it out. */
const shortJwk = () => {
  for (;;) {
    const { publicKey } = Keys.make("secp256k1")
    const [x, y] = [publicKey.subarray(1, 33), publicKey.subarray(33)]
    if (x[0] !== 0 && y[0] !== 0) continue
    const trimmed = [x, y].map((part) => Buffer.from(part[0] === 0 ? part.subarray(1) : part).toString("base64url"))
    return { publicKey, jwk: { x: trimmed[0] ?? "", y: trimmed[1] ?? "" } }
  }
}

const digest = crypto.createHash("sha256").update("a message").digest()

const refusedSignatures: Record<string, (der: Buffer) => Uint8Array> = {
  "with a byte after it": (der) => Buffer.concat([der, Uint8Array.of(0)]),
  "cut off": (der) => der.subarray(0, -1),
  "with a length in its long form": (der) => Buffer.concat([Uint8Array.of(0x30, 0x81, der[1] ?? 0), der.subarray(2)]),
  "with r = 0": () => Buffer.from("3006020100020101", "hex"),
  "with a negative r": () => Buffer.from("3006020181020101", "hex"),
  empty: () => new Uint8Array()
}

describe("answers of key services", () => {
  for (const curve of ["secp256k1", "ed25519"] as const) {
    it(`a public key on ${curve} is read from SPKI in DER and in PEM`, () => {
      const { publicKey, spki } = Keys.make(curve)
      const expected = { curve, publicKey: new Uint8Array(publicKey) }
      assert.deepStrictEqual(Decode.ofSpki(spki), expected)
      assert.deepStrictEqual(Decode.ofPem(String(pemOf(spki))), expected)
      assert.isUndefined(Decode.ofSpki(spki.subarray(0, -1)))
      assert.isUndefined(Decode.ofPem("-----BEGIN PUBLIC KEY-----\nAAAA\n-----END PUBLIC KEY-----\n"))
    })
  }

  it("a key on another curve, and a private key, are refused", () => {
    const { privateKey, publicKey } = crypto.generateKeyPairSync("ec", { namedCurve: "P-256" })
    assert.isUndefined(Decode.ofSpki(publicKey.export({ format: "der", type: "spki" })))
    const rsa = crypto.generateKeyPairSync("rsa", { modulusLength: 1024 }).publicKey
    assert.isUndefined(Decode.ofSpki(rsa.export({ format: "der", type: "spki" })))
    assert.isUndefined(Decode.ofPem(String(privateKey.export({ format: "pem", type: "pkcs8" }))))
  })

  it.effect("a JWK without leading zeros is padded, and a point that is not on the curve is refused", () =>
    Effect.gen(function* () {
      const { jwk, publicKey } = shortJwk()
      const decoded = yield* Effect.promise(() => Decode.ofJwk(jwk))
      assert.deepStrictEqual(decoded, { curve: "secp256k1", publicKey: new Uint8Array(publicKey) })
      assert.isUndefined(yield* Effect.promise(() => Decode.ofJwk({ x: jwk.x, y: jwk.x })))
      const long = Buffer.alloc(33, 1).toString("base64url")
      assert.isUndefined(yield* Effect.promise(() => Decode.ofJwk({ x: long, y: jwk.y })))
    })
  )

  it.effect("a compressed point is expanded", () =>
    Effect.gen(function* () {
      const { publicKey } = Keys.make("secp256k1")
      const compressed = secp256k1.ProjectivePoint.fromHex(publicKey).toRawBytes(true)
      const decoded = yield* Effect.promise(() => Decode.ofPoint(compressed))
      assert.deepStrictEqual([...(decoded?.publicKey ?? [])], [...publicKey])
      assert.isUndefined(yield* Effect.promise(() => Decode.ofPoint(compressed.subarray(1))))
    })
  )

  for (const [name, change] of Object.entries(refusedSignatures)) {
    it.effect(`a signature in DER is refused: ${name}`, () =>
      Effect.gen(function* () {
        const signature = Keys.make("secp256k1").sign(digest)
        const der = Buffer.from(Keys.toDer(signature))
        assert.deepStrictEqual(yield* Effect.promise(() => Decode.ofDer(der)), signature)
        assert.isUndefined(yield* Effect.promise(() => Decode.ofDer(change(der))))
      })
    )
  }

  it.effect("a signature is completed only for the key that signed the digest", () =>
    Effect.gen(function* () {
      const [key, other] = [Keys.make("secp256k1"), Keys.make("secp256k1")]
      const complete = (publicKey: Uint8Array, message: Uint8Array, rs: Uint8Array) =>
        Effect.promise(() => Decode.completeSignature(publicKey, message, rs))
      const low = key.sign(digest)
      const high = key.sign(digest, true)
      assert.notDeepEqual(low, high)
      assert.deepStrictEqual(yield* complete(key.publicKey, digest, high), yield* complete(key.publicKey, digest, low))
      assert.isDefined(yield* complete(key.publicKey, digest, low))
      assert.isUndefined(yield* complete(other.publicKey, digest, low))
      assert.isUndefined(yield* complete(key.publicKey, crypto.randomBytes(32), low))
      assert.isUndefined(yield* complete(key.publicKey, digest, new Uint8Array(64)))
      assert.isUndefined(yield* complete(key.publicKey, digest, low.subarray(1)))
    })
  )
})
