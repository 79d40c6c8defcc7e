// A random message that is signed to test a key.
import * as crypto from "node:crypto"
import type { Curve } from "../../../domain/signer/Curve.ts"

/**
 * A probe is never a valid transaction. ed25519: on solana its first byte would announce 101 signers, for which it is too
 * short, and stellar signs a hash, which is shorter. secp256k1: a SHA-256, while evm signs a Keccak hash.
 */
export const make = (curve: Curve): Uint8Array => {
  const message = Buffer.concat([Buffer.from("effect-relayer signer probe\n"), crypto.randomBytes(32)])
  return curve === "ed25519" ? message : crypto.createHash("sha256").update(message).digest()
}
