// Completes a signature on secp256k1: a low s, as evm requires, and the recovery bit, which key services do not return.
// The library of the curve is loaded when it is first needed.
import type { SignatureType } from "@noble/curves/abstract/weierstrass"

const read = async (rs: Uint8Array) => {
  const { secp256k1 } = await import("@noble/curves/secp256k1")
  try {
    return secp256k1.Signature.fromCompact(rs).normalizeS()
  } catch {
    return undefined
  }
}

/** The public key that this recovery bit yields. Undefined if there is no such key. */
const recover = (signature: SignatureType, bit: number, digest: Uint8Array) => {
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
export const complete = async (
  publicKey: Uint8Array,
  digest: Uint8Array,
  rs: Uint8Array
): Promise<Uint8Array | undefined> => {
  const signature = await read(rs)
  if (signature === undefined) return undefined
  for (const bit of [0, 1]) {
    const key = recover(signature, bit, digest)
    if (key !== undefined && Buffer.compare(key, publicKey) === 0) {
      return Uint8Array.of(...signature.toCompactRawBytes(), bit)
    }
  }
  return undefined
}
