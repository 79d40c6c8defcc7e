// Signers whose private key the service stores: `plain` and `local`. The key is in memory for the time of each use.
import { Effect, Redacted } from "effect"
import type { SecureRandom } from "effect/crypto"
import { Hex } from "effect/encoding"
import type { Curve } from "../../../../domain/signer/Signer.ts"
import { operations } from "../Curves.ts"
import type { SignerBackend, SignerKind } from "../SignerBackend.ts"
import type { Open } from "./Keystore.ts"

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

/** A key that is given or generated here. */
export const plain = (random: SecureRandom.SecureRandom["Service"]): SignerKind<"plain"> => {
  /** 32 random bytes are below the order of secp256k1, except for one in 2^128. */
  const generate = Effect.map(random.randomBytes(32), (bytes) => Redacted.make(Hex.encode(bytes)))

  return {
    column: "key",
    worksOutside: false,
    prepare: (request) => {
      const key = request?.key === undefined ? generate : Effect.succeed(request.key)
      return Effect.map(key, (secret) => ({ config: {}, secret }))
    },
    open: ({ secret }) => make(secret)
  }
}

/** The key of a keystore, which is opened once. The service keeps the key, not the keystore. */
export const local = (open: Open): SignerKind<"local"> => ({
  column: "key",
  worksOutside: true,
  prepare: ({ keystore, passphrase }) => Effect.map(open(keystore, passphrase), (secret) => ({ config: {}, secret })),
  open: ({ secret }) => make(secret)
})
