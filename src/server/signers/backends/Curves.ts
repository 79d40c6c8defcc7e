// Keys, signatures and their verification, by curve. viem and tiny-secp256k1 take 15 MB each and are loaded when they are first
// needed.
import * as crypto from "node:crypto"
import type { Curve } from "../../../domain/signer/Signer.ts"

/** Bytes have the formats that `SignerBackend` names; `privateKey` has 32 bytes. */
interface Operations {
  publicKey(privateKey: Uint8Array): Uint8Array
  sign(privateKey: Uint8Array, message: Uint8Array): Promise<Uint8Array>
  verify(publicKey: Uint8Array, message: Uint8Array, signature: Uint8Array): Promise<boolean>
}

const toHex = (bytes: Uint8Array) => `0x${Buffer.from(bytes).toString("hex")}` as const

const halfOrder = 0x7fffffffffffffffffffffffffffffff5d576e7357a4501ddfe92f46681b20a0n

const secp256k1: Operations = {
  publicKey: (privateKey) => {
    const pair = crypto.createECDH("secp256k1")
    pair.setPrivateKey(privateKey)
    return pair.getPublicKey()
  },
  // libsecp256k1 is written so that its time does not depend on the key, and takes 80 µs for a signature (@noble/curves, which
  // viem uses: 200 µs). The same key and digest always give the same signature (RFC 6979).
  sign: async (privateKey, digest) => {
    const { signRecoverable } = await import("tiny-secp256k1")
    const { signature, recoveryId } = signRecoverable(digest, privateKey)
    return Uint8Array.of(...signature, recoveryId)
  },
  verify: async (publicKey, digest, signature) => {
    if (signature.length !== 65 || (signature[64] ?? 2) > 1) return false
    if (BigInt(toHex(signature.subarray(32, 64))) > halfOrder) return false
    const { recoverPublicKey } = await import("viem/utils")
    const recovered = recoverPublicKey({ hash: toHex(digest), signature: toHex(signature) })
    // It fails if no point of the curve has r as its x.
    return recovered.then(
      (key) => key === toHex(publicKey),
      () => false
    )
  }
}

/** The bytes before the 32 bytes of a key in DER (RFC 8410, sections 7 and 4). */
const pkcs8 = Buffer.from("302e020100300506032b657004220420", "hex")
const spki = Buffer.from("302a300506032b6570032100", "hex")

const ed25519Key = (seed: Uint8Array) => {
  const der = Buffer.concat([pkcs8, seed])
  try {
    return crypto.createPrivateKey({ key: der, format: "der", type: "pkcs8" })
  } finally {
    der.fill(0)
  }
}

const ed25519: Operations = {
  publicKey: (seed) =>
    crypto.createPublicKey(ed25519Key(seed)).export({ format: "der", type: "spki" }).subarray(spki.length),
  sign: async (seed, message) => crypto.sign(null, message, ed25519Key(seed)),
  verify: async (publicKey, message, signature) => {
    if (publicKey.length !== 32) return false
    const key = crypto.createPublicKey({ key: Buffer.concat([spki, publicKey]), format: "der", type: "spki" })
    return crypto.verify(null, message, key, signature)
  }
}

export const operations: Readonly<Record<Curve, Operations>> = { secp256k1, ed25519 }

/**
 * A random message that is signed to test a key. It is never a valid transaction. On solana, its first byte would announce 101
 * signers, for which it is too short. On stellar, signatures cover a hash, which is shorter. On evm, they cover a Keccak hash, not
 * a SHA-256 hash.
 */
export const probeOf = (curve: Curve): Uint8Array => {
  const message = Buffer.concat([Buffer.from("effect-relayer signer probe\n"), crypto.randomBytes(32)])
  return curve === "ed25519" ? message : crypto.createHash("sha256").update(message).digest()
}
