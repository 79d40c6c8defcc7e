// Opens a keystore (Web3 Secret Storage, version 3) with its passphrase.
import { Effect, Redacted, Schema } from "effect"
import { Hex } from "effect/encoding"
import * as crypto from "node:crypto"
import { BadRequest } from "../../../../domain/request/Request.ts"
import type { ServiceUnavailable } from "../../../../domain/request/Request.ts"
import { PrivateKey } from "../../../../domain/signer/CreateSigner.ts"
import type { Derivation, KeyDerivation } from "../../../../threads/KeyDerivation.ts"
import * as KeystoreFormat from "./KeystoreFormat.ts"
import * as KeystoreQueue from "./KeystoreQueue.ts"

type Crypto = KeystoreFormat.Keystore["crypto"]

const refused = (field: string, message: string) => BadRequest.of([{ field, message }])

const derivation = (passphrase: string, { kdf, kdfparams }: Crypto): Derivation =>
  kdf === "scrypt" ? { kdf, passphrase, ...kdfparams } : { kdf, passphrase, ...kdfparams }

const macOf = (derived: Uint8Array, ciphertext: Uint8Array) =>
  Effect.promise(async () => {
    const { keccak256 } = await import("viem/utils")
    return keccak256(Buffer.concat([derived.subarray(16), ciphertext]), "bytes")
  })

const decrypt = (derived: Uint8Array, { cipher, cipherparams, ciphertext }: Crypto) => {
  const decipher = crypto.createDecipheriv(cipher, derived.subarray(0, 16), cipherparams.iv)
  return Buffer.concat([decipher.update(ciphertext), decipher.final()])
}

const toPrivateKey = Schema.decodeUnknownEffect(PrivateKey)

/** Returns the private key in the keystore. `ServiceUnavailable` if too many keystores are waiting. */
export type Open = (
  keystore: Redacted.Redacted,
  passphrase: Redacted.Redacted
) => Effect.Effect<Redacted.Redacted, BadRequest | ServiceUnavailable>

export const make = (derivations: KeyDerivation["Service"]): Open => {
  const queue = KeystoreQueue.make()
  return Effect.fn("Keystore.open")(function* (keystore, passphrase) {
    const { crypto: sealed } = yield* Effect.fromResult(KeystoreFormat.read(Redacted.value(keystore)))
    const derived = yield* queue.run(derivations.derive(derivation(Redacted.value(passphrase), sealed)))
    if (!crypto.timingSafeEqual(yield* macOf(derived, sealed.ciphertext), sealed.mac)) {
      return yield* refused("config.passphrase", "does not open the keystore")
    }
    return yield* toPrivateKey(Hex.encode(decrypt(derived, sealed))).pipe(
      Effect.mapError(() => refused("config.keystore", "contains no usable key"))
    )
  })
}
