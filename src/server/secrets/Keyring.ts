// The known master keys. The current one seals; a secret is opened with the key that it names.
import { Array, Effect, Redacted, Schema } from "effect"
import type { Option } from "effect"
import { Aead, Digest } from "effect/crypto"
import { Hex } from "effect/encoding"
import * as Envelope from "./Envelope.ts"

/** 32 bytes each. */
export interface Keys {
  readonly current: Redacted.Redacted<Uint8Array>
  /** Further keys that stored secrets may still be sealed with. */
  readonly others?: ReadonlyArray<Redacted.Redacted<Uint8Array>>
}

/** A signer must not be deleted: its key may exist nowhere else. */
const remedyOf = (place: string): string =>
  place.startsWith("signers.") || place.startsWith("channel_keys.")
    ? "; delete no signer whose key exists nowhere else"
    : ", or delete it and create it again"

/** The sealed secret names an unknown master key, belongs to another place or context, or was changed. */
export class SecretUnreadable extends Schema.TaggedError<SecretUnreadable>()("SecretUnreadable", {
  place: Schema.String,
  id: Schema.String
}) {
  override readonly message = `the sealed ${this.place} of ${JSON.stringify(this.id)} does not open: another program or a person changed its row in the database, or it needs a master key that the service does not use; restore the row from a backup${remedyOf(this.place)}`
}

export interface Keyring {
  /** The id of the current key. */
  readonly keyId: string
  /** The start of everything that the current key seals. */
  readonly header: Uint8Array
  /** All keys by id; the current one comes first. */
  readonly keys: ReadonlyMap<string, Redacted.Redacted<Uint8Array>>
  seal(secret: Redacted.Redacted, place: Envelope.Place): Effect.Effect<Uint8Array>
  open(sealed: Uint8Array, place: Envelope.Place): Effect.Effect<Redacted.Redacted, SecretUnreadable>
  /** None if it is already sealed with the current key. */
  rewrap(sealed: Uint8Array, place: Envelope.Place): Effect.Effect<Option.Option<Uint8Array>, SecretUnreadable>
}

const masterKey = Effect.fnUntraced(function* (bytes: Redacted.Redacted<Uint8Array>) {
  const digest = yield* Digest.Digest
  const id = (yield* digest.digest(Digest.sha256, Redacted.value(bytes))).slice(0, Envelope.keyIdLength)
  const key = yield* Aead.key(Aead.aes256Gcm, Redacted.value(bytes))
  return { id: Hex.encode(id), key, header: Envelope.headerOf(id), bytes }
}, Effect.orDie)

const startsWith = (bytes: Uint8Array, start: Uint8Array) => start.every((byte, index) => bytes[index] === byte)

export const make = Effect.fnUntraced(function* ({ current: currentKey, others = [] }: Keys) {
  const envelope = yield* Envelope.make
  const current = yield* masterKey(currentKey)
  const known = Array.dedupeWith([current, ...(yield* Effect.forEach(others, masterKey))], (a, b) => a.id === b.id)
  const byId = new Map(known.map((key) => [key.id, key]))

  const unreadable = ({ table, id, column }: Envelope.Place) =>
    new SecretUnreadable({ place: `${table}.${column}`, id })

  const named = (sealed: Uint8Array, place: Envelope.Place) => {
    const key = Envelope.isCurrent(sealed) ? byId.get(Envelope.keyIdOf(sealed)) : undefined
    return key === undefined ? Effect.fail(unreadable(place)) : Effect.succeed(key)
  }

  const keyring: Keyring = {
    keyId: current.id,
    header: current.header,
    keys: new Map(known.map(({ id, bytes }) => [id, bytes])),
    seal: (secret, place) => envelope.seal(current, new TextEncoder().encode(Redacted.value(secret)), place),
    open: (sealed, place) =>
      Effect.flatMap(named(sealed, place), (key) => envelope.open(key, sealed, place)).pipe(
        Effect.map((secret) => Redacted.make(new TextDecoder("utf-8", { ignoreBOM: true }).decode(secret))),
        Effect.mapError(() => unreadable(place))
      ),
    rewrap: (sealed, place) =>
      startsWith(sealed, current.header)
        ? Effect.succeedNone
        : Effect.flatMap(named(sealed, place), (key) => envelope.rewrap(key, current, sealed, place)).pipe(
            Effect.asSome,
            Effect.mapError(() => unreadable(place))
          )
  }
  return keyring
})
