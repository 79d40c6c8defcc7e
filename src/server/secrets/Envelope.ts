// The format of sealed secrets: header, a data key wrapped by the master key, and the secret under the data key, both bound to the place.
import { Effect } from "effect"
import { Aead, SecureRandom } from "effect/crypto"
import type { CryptoError } from "effect/crypto"
import { Hex } from "effect/encoding"

const sorted = (value: unknown): unknown => {
  if (Array.isArray(value)) return value.map(sorted)
  if (typeof value !== "object" || value === null) return value
  return Object.fromEntries(
    Object.entries(value)
      .sort(([one], [other]) => (one < other ? -1 : 1))
      .map(([key, field]) => [key, sorted(field)])
  )
}

/** JSON text that is the same for equal values: the keys of objects are sorted, and absent fields are left out. */
export const canonicalJson = (value: unknown): string => JSON.stringify(sorted(value))

/** Where a secret is stored; a ciphertext moved elsewhere does not open. */
export interface Place {
  readonly table: string
  readonly id: string
  readonly column: string
  /** Columns of the row that say how the secret is used, as JSON. The secret does not open after a change of them. */
  readonly context?: unknown
}

export interface MasterKey {
  /** The first bytes of the key's SHA-256, in hex. */
  readonly id: string
  readonly key: Aead.Key
  /** The start of everything that the key seals: version (1 byte) and key id. */
  readonly header: Uint8Array
}

const algorithm = Aead.aes256Gcm

export const keyIdLength = 4
const headerLength = 1 + keyIdLength

/** Bytes of nonce, encrypted data key and tag. */
const wrappedKeyLength = algorithm.nonceLength + algorithm.keyLength + 16

const concat = (...parts: ReadonlyArray<Uint8Array>): Uint8Array => {
  const whole = new Uint8Array(parts.reduce((length, part) => length + part.length, 0))
  let offset = 0
  for (const part of parts) {
    whole.set(part, offset)
    offset += part.length
  }
  return whole
}

/** Versions 1 and 2 were not bound to a context, and nothing of them opens. */
const version = 3

export const headerOf = (keyId: Uint8Array): Uint8Array => Uint8Array.from([version, ...keyId])

export const isCurrent = (sealed: Uint8Array): boolean => sealed[0] === version

/** The master key that `sealed` names. */
export const keyIdOf = (sealed: Uint8Array): string => Hex.encode(sealed.subarray(1, headerLength))

const associatedData = ({ table, id, column, context }: Place) => {
  const bound = context !== undefined ? [canonicalJson(context)] : []
  return new TextEncoder().encode(JSON.stringify([table, id, column, ...bound]))
}

type Opened = Effect.Effect<Uint8Array, CryptoError.CryptoError>

export const make = Effect.gen(function* () {
  const aead = yield* Aead.Aead
  const random = yield* SecureRandom.SecureRandom

  /** Nonce, ciphertext and tag. */
  const encrypt = Effect.fnUntraced(function* (key: Aead.Key, plaintext: Uint8Array, aad: Uint8Array) {
    const nonce = yield* random.randomBytes(algorithm.nonceLength)
    return concat(nonce, yield* aead.encrypt(key, plaintext, { nonce, aad }))
  })

  const decrypt = (key: Aead.Key, encrypted: Uint8Array, aad: Uint8Array) =>
    aead.decrypt(key, encrypted.subarray(algorithm.nonceLength), {
      nonce: encrypted.subarray(0, algorithm.nonceLength),
      aad
    })

  const wrap = (master: MasterKey, dataKey: Uint8Array, place: Place) =>
    encrypt(master.key, dataKey, concat(master.header, associatedData(place)))

  /** `aad`: the associated data of the place. */
  const unwrap = (master: MasterKey, sealed: Uint8Array, aad: Uint8Array): Opened =>
    decrypt(
      master.key,
      sealed.subarray(headerLength, headerLength + wrappedKeyLength),
      concat(sealed.subarray(0, headerLength), aad)
    )

  const seal = Effect.fnUntraced(function* (master: MasterKey, secret: Uint8Array, place: Place) {
    const dataKey = yield* random.randomBytes(algorithm.keyLength)
    const key = yield* Aead.key(algorithm, dataKey)
    return concat(
      master.header,
      yield* wrap(master, dataKey, place),
      yield* encrypt(key, secret, associatedData(place))
    )
  }, Effect.orDie)

  /** `master` is the key that `sealed` names, and `sealed` is of the current version. */
  const open = Effect.fnUntraced(function* (master: MasterKey, sealed: Uint8Array, place: Place) {
    const aad = associatedData(place)
    const key = yield* Aead.key(algorithm, yield* unwrap(master, sealed, aad))
    return yield* decrypt(key, sealed.subarray(headerLength + wrappedKeyLength), aad)
  })

  /** Seals under `to` what is sealed under `from`: only header and wrapped key change. */
  const rewrap = Effect.fnUntraced(function* (from: MasterKey, to: MasterKey, sealed: Uint8Array, place: Place) {
    const wrapped = yield* wrap(to, yield* unwrap(from, sealed, associatedData(place)), place)
    return concat(to.header, wrapped, sealed.subarray(headerLength + wrappedKeyLength))
  })

  return { seal, open, rewrap }
})
