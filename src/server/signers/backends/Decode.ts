// Reads public keys and signatures in the formats of key services: SPKI in DER or PEM, JWK, DER, and a signature without its recovery bit.
// The library of the curve is loaded when it is first needed.
import type { SignatureType } from "@noble/curves/abstract/weierstrass"
import * as crypto from "node:crypto"
import type { JsonWebKey, KeyObject } from "node:crypto"
import type { Curve } from "../../../domain/signer/Signer.ts"

export interface DecodedKey {
  readonly curve: Curve
  /** In the format of `SignerBackend.publicKey`. */
  readonly publicKey: Uint8Array
}

/** Adds the leading zeros that key services omit: a point always has 64 bytes. */
const padded = (coordinate: string | undefined) => {
  const bytes = Buffer.from(coordinate ?? "", "base64url")
  return bytes.length > 32 ? undefined : Buffer.concat([Buffer.alloc(32 - bytes.length), bytes])
}

const ofObject = (key: KeyObject): DecodedKey | undefined => {
  const { crv, x, y } = key.export({ format: "jwk" })
  const [left, right] = [padded(x), padded(y)]
  if (left === undefined || right === undefined) return undefined
  if (crv === "Ed25519") return { curve: "ed25519", publicKey: new Uint8Array(left) }
  if (crv !== "secp256k1") return undefined
  return { curve: "secp256k1", publicKey: new Uint8Array(Buffer.concat([Uint8Array.of(4), left, right])) }
}

/** Undefined if `read` fails, or if the key is on another curve. */
const attempt = (read: () => KeyObject): DecodedKey | undefined => {
  try {
    return ofObject(read())
  } catch {
    return undefined
  }
}

export const ofSpki = (der: Uint8Array): DecodedKey | undefined =>
  attempt(() => crypto.createPublicKey({ key: Buffer.from(der), format: "der", type: "spki" }))

export const ofPem = (pem: string): DecodedKey | undefined =>
  pem.includes("PUBLIC KEY") && !pem.includes("PRIVATE KEY") ? attempt(() => crypto.createPublicKey(pem)) : undefined

const load = () => import("@noble/curves/secp256k1")

/** A key on secp256k1. `x` and `y` may lack leading zeros. */
export const ofJwk = async ({ x, y }: Pick<JsonWebKey, "x" | "y">): Promise<DecodedKey | undefined> => {
  const [left, right] = [padded(x), padded(y)]
  if (left === undefined || right === undefined) return undefined
  return ofPoint(Buffer.concat([Uint8Array.of(4), left, right]))
}

/** A key on secp256k1: 65 bytes, or 33 bytes, which are expanded. Undefined if the point is not on the curve. */
export const ofPoint = async (point: Uint8Array): Promise<DecodedKey | undefined> => {
  const { secp256k1 } = await load()
  try {
    return { curve: "secp256k1", publicKey: secp256k1.ProjectivePoint.fromHex(point).toRawBytes(false) }
  } catch {
    return undefined
  }
}

/** r and s, 64 bytes, of a secp256k1 signature in DER. Undefined unless it is one signature in its shortest form. */
export const ofDer = async (der: Uint8Array): Promise<Uint8Array | undefined> => {
  const { secp256k1 } = await load()
  try {
    return secp256k1.Signature.fromDER(der).toCompactRawBytes()
  } catch {
    return undefined
  }
}

// Completes a signature on secp256k1: a low s, as evm requires, and the recovery bit, which key services do not return.
// The library of the curve is loaded when it is first needed.

const readCompact = async (rs: Uint8Array) => {
  const { secp256k1 } = await import("@noble/curves/secp256k1")
  try {
    return secp256k1.Signature.fromCompact(rs).normalizeS()
  } catch {
    return undefined
  }
}

/** The public key that this recovery bit yields. Undefined if there is no such key. */
const recoverKey = (signature: SignatureType, bit: number, digest: Uint8Array) => {
  try {
    return signature.addRecoveryBit(bit).recoverPublicKey(digest).toRawBytes(false)
  } catch {
    return undefined
  }
}

/**
 * r, s and the recovery bit, 65 bytes. `rs` has 64 bytes, `publicKey` has 65. Undefined if `publicKey` did not sign `digest`,
 * so the recovery verifies the signature too.
 */
export const completeSignature = async (
  publicKey: Uint8Array,
  digest: Uint8Array,
  rs: Uint8Array
): Promise<Uint8Array | undefined> => {
  const signature = await readCompact(rs)
  if (signature === undefined) return undefined
  for (const bit of [0, 1]) {
    const key = recoverKey(signature, bit, digest)
    if (key !== undefined && Buffer.compare(key, publicKey) === 0) {
      return Uint8Array.of(...signature.toCompactRawBytes(), bit)
    }
  }
  return undefined
}
