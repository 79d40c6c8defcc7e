// Secrets at rest: AES-256-GCM under the master key, bound to the row and column that hold them.
import { Context, Effect, Layer, Redacted, Schema } from "effect"
import { Aead, Digest, SecureRandom } from "effect/crypto"

/** Where a secret is stored; a ciphertext moved elsewhere does not open. */
export interface Place {
  readonly table: string
  readonly id: string
  readonly column: string
}

/** The ciphertext was made under another master key, belongs to another place, or was changed. */
export class SecretUnreadable extends Schema.TaggedError<SecretUnreadable>()("SecretUnreadable", {
  place: Schema.String
}) {}

const formatVersion = 1
const keyIdLength = 4
const nonceLength = Aead.aes256Gcm.nonceLength
const headerLength = 1 + keyIdLength + nonceLength

const associatedData = ({ table, id, column }: Place) => new TextEncoder().encode(JSON.stringify([table, id, column]))

export class Secrets extends Context.Service<
  Secrets,
  {
    /** Version (1 byte), key id (4), nonce (12), ciphertext and tag. */
    seal(secret: Redacted.Redacted, place: Place): Effect.Effect<Uint8Array>
    open(sealed: Uint8Array, place: Place): Effect.Effect<Redacted.Redacted, SecretUnreadable>
  }
>()("effect-relayer/server/Secrets/Secrets") {
  /** `masterKey`: 32 bytes. */
  static readonly layer = (masterKey: Redacted.Redacted<Uint8Array>) =>
    Layer.effect(
      Secrets,
      Effect.gen(function* () {
        const aead = yield* Aead.Aead
        const random = yield* SecureRandom.SecureRandom
        const digest = yield* Digest.Digest
        const key = yield* Effect.orDie(Aead.key(Aead.aes256Gcm, Redacted.value(masterKey)))
        const keyId = (yield* Effect.orDie(digest.digest(Digest.sha256, Redacted.value(masterKey)))).slice(
          0,
          keyIdLength
        )

        const seal = Effect.fn("Secrets.seal")(function* (secret: Redacted.Redacted, place: Place) {
          const nonce = yield* random.randomBytes(nonceLength)
          const plaintext = new TextEncoder().encode(Redacted.value(secret))
          const ciphertext = yield* aead.encrypt(key, plaintext, { nonce, aad: associatedData(place) })
          return Uint8Array.from([formatVersion, ...keyId, ...nonce, ...ciphertext])
        }, Effect.orDie)

        const open = Effect.fn("Secrets.open")(function* (sealed: Uint8Array, place: Place) {
          const nonce = sealed.slice(1 + keyIdLength, headerLength)
          return yield* aead.decrypt(key, sealed.slice(headerLength), { nonce, aad: associatedData(place) }).pipe(
            Effect.map((plaintext) => Redacted.make(new TextDecoder().decode(plaintext))),
            Effect.mapError(() => new SecretUnreadable({ place: `${place.table}.${place.column}` }))
          )
        })

        return Secrets.of({ seal, open })
      })
    ).pipe(
      Layer.provide(Layer.mergeAll(Aead.layerWebCrypto, Digest.layerWebCrypto)),
      Layer.provide(SecureRandom.layerWebCrypto)
    )
}
