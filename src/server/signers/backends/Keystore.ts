// Opens a keystore (Web3 Secret Storage, version 3) with its passphrase.
import { Effect, Redacted, Schema, Semaphore } from "effect"
import { Hex } from "effect/encoding"
import * as crypto from "node:crypto"
import { BadRequest } from "../../../domain/request/Request.ts"
import { PrivateKey } from "../../../domain/signer/Signer.ts"
import * as KeystoreFormat from "./KeystoreFormat.ts"
import * as Scrypt from "./Scrypt.ts"

type Crypto = KeystoreFormat.Keystore["crypto"]

const refused = (field: string, message: string) => BadRequest.of([{ field, message }])

const pbkdf2 = (passphrase: string, { salt, c, dklen }: Extract<Crypto, { kdf: "pbkdf2" }>["kdfparams"]) =>
  Effect.callback<Buffer>((resume) =>
    crypto.pbkdf2(passphrase, salt, c, dklen, "sha256", (error, key) =>
      resume(error === null ? Effect.succeed(key) : Effect.die(error))
    )
  ).pipe(Effect.uninterruptible)

const deriveKey = (passphrase: string, { kdf, kdfparams }: Crypto) =>
  kdf === "scrypt" ? Scrypt.derive(passphrase, kdfparams) : pbkdf2(passphrase, kdfparams)

/** A derivation fills up to 256 MiB: the process runs one at a time. */
const oneAtATime = Semaphore.makeUnsafe(1)

const macOf = (derived: Buffer, ciphertext: Uint8Array) =>
  Effect.promise(async () => {
    const { keccak256 } = await import("viem/utils")
    return keccak256(Buffer.concat([derived.subarray(16), ciphertext]), "bytes")
  })

const decrypt = (derived: Buffer, { cipher, cipherparams, ciphertext }: Crypto) => {
  const decipher = crypto.createDecipheriv(cipher, derived.subarray(0, 16), cipherparams.iv)
  return Buffer.concat([decipher.update(ciphertext), decipher.final()])
}

const toPrivateKey = Schema.decodeUnknownEffect(PrivateKey)

/** The private key in it. */
export const open = Effect.fn("Keystore.open")(function* (keystore: Redacted.Redacted, passphrase: Redacted.Redacted) {
  const { crypto: sealed } = yield* Effect.fromResult(KeystoreFormat.read(Redacted.value(keystore)))
  const derived = yield* oneAtATime.withPermit(deriveKey(Redacted.value(passphrase), sealed))
  if (!crypto.timingSafeEqual(yield* macOf(derived, sealed.ciphertext), sealed.mac)) {
    return yield* refused("config.passphrase", "does not open the keystore")
  }
  return yield* toPrivateKey(Hex.encode(decrypt(derived, sealed))).pipe(
    Effect.mapError(() => refused("config.keystore", "holds no key that can be used"))
  )
})
