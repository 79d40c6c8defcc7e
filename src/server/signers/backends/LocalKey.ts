// A private key in the memory of the service, for the time of each use.
import { Effect, Redacted } from "effect"
import type { Curve } from "../../../domain/signer/Curve.ts"
import { operations } from "./Curves.ts"
import type { SignerBackend } from "./SignerBackend.ts"

/** `key`: a `PrivateKey`. It signs on both curves. */
export const make = (key: Redacted.Redacted): SignerBackend => {
  const use = <A>(f: (bytes: Uint8Array) => A | Promise<A>) =>
    Effect.promise(async () => {
      const bytes = Buffer.from(Redacted.value(key).replace(/^0x/, ""), "hex")
      try {
        return await f(bytes)
      } finally {
        bytes.fill(0)
      }
    })

  return {
    hasFixedKey: true,
    curves: ["secp256k1", "ed25519"],
    publicKey: (curve: Curve) => use((bytes) => operations[curve].publicKey(bytes)),
    sign: (curve: Curve, message: Uint8Array) => use((bytes) => operations[curve].sign(bytes, message))
  }
}
