// Keys of a stand-in for a key service, on both curves, and their signatures.
import { secp256k1 } from "@noble/curves/secp256k1"
import * as crypto from "node:crypto"
import type { Curve } from "../../src/domain/signer/Signer.ts"
import type { Fault } from "./StandIn.ts"

/** The bytes before a public key in DER (RFC 5480, RFC 8410). */
const spkiPrefix = {
  secp256k1: "3056301006072a8648ce3d020106052b8104000a034200",
  ed25519: "302a300506032b6570032100"
} as const satisfies Record<Curve, string>

export interface Key {
  readonly curve: Curve
  /** secp256k1: 65 bytes; ed25519: 32 bytes. */
  readonly publicKey: Uint8Array
  readonly spki: Uint8Array
  /** r and s, with a high s if `high`, or the 64 bytes of ed25519. secp256k1 signs a digest. */
  sign(message: Uint8Array, high?: boolean): Uint8Array
}

const keyOf = (curve: Curve, publicKey: Uint8Array, sign: Key["sign"]): Key => ({
  curve,
  publicKey,
  spki: Buffer.concat([Buffer.from(spkiPrefix[curve], "hex"), publicKey]),
  sign
})

const onSecp256k1 = () => {
  const secret = secp256k1.utils.randomPrivateKey()
  return keyOf("secp256k1", secp256k1.getPublicKey(secret, false), (digest, high = false) => {
    const { r, s } = secp256k1.sign(digest, secret, { lowS: true })
    return new secp256k1.Signature(r, high ? secp256k1.CURVE.n - s : s).toCompactRawBytes()
  })
}

const onEd25519 = () => {
  const { privateKey, publicKey } = crypto.generateKeyPairSync("ed25519")
  const spki = publicKey.export({ format: "der", type: "spki" })
  return keyOf("ed25519", spki.subarray(spkiPrefix.ed25519.length / 2), (message) =>
    crypto.sign(null, message, privateKey)
  )
}

/** A new key. */
export const make = (curve: Curve): Key => (curve === "secp256k1" ? onSecp256k1() : onEd25519())

const changed = (message: Uint8Array) => message.map((byte, index) => (index === 0 ? byte ^ 1 : byte))

/** The key that a key service uses if its answer has the fault. */
export const withFault = (key: Key, fault: Fault | undefined): Key => {
  if (fault === "other key") return make(key.curve)
  return fault === "other message" ? { ...key, sign: (message, high) => key.sign(changed(message), high) } : key
}

/** A signature of 64 bytes on secp256k1, in DER. */
export const toDer = (rs: Uint8Array): Uint8Array => secp256k1.Signature.fromCompact(rs).toDERRawBytes()
