// Keys that tests and scripts sign with.
import { createPrivateKey, createPublicKey, sign } from "node:crypto"
import { encodeBase58, keyBytes } from "../../src/networks/solana/rules/Wire.ts"

/** The DER header of an ed25519 private key (RFC 8410). */
const derHeader = Buffer.from("302e020100300506032b657004220420", "hex")

/** The key with a seed of 32 bytes. */
export const ofSeed = (seed: Uint8Array) => {
  const key = createPrivateKey({ key: Buffer.concat([derHeader, seed]), format: "der", type: "pkcs8" })
  const publicKey = createPublicKey(key).export({ format: "der", type: "spki" }).subarray(-keyBytes)
  return {
    address: encodeBase58(Uint8Array.from(publicKey)),
    /** As a file has it. */
    pem: () => key.export({ format: "pem", type: "pkcs8" }).toString(),
    sign: (message: Uint8Array): Uint8Array => Uint8Array.from(sign(null, message, key))
  }
}

export type Key = ReturnType<typeof ofSeed>
