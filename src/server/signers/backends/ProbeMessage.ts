// A random message that is signed to test a key.
import * as crypto from "node:crypto"
import type { Curve } from "../../../domain/signer/Curve.ts"

/**
 * A probe is never a valid transaction. On solana, its first byte would announce 101 signers, for which the probe is too short.
 * On stellar, signatures cover a hash, which is shorter than the probe. On evm, they cover a Keccak hash, not a SHA-256 hash.
 */
export const make = (curve: Curve): Uint8Array => {
  const message = Buffer.concat([Buffer.from("effect-relayer signer probe\n"), crypto.randomBytes(32)])
  return curve === "ed25519" ? message : crypto.createHash("sha256").update(message).digest()
}
