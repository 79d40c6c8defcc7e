// Secrets at rest: envelope encryption under the current master key, bound to the row and column that hold them.
import { Array as Arr, Context, Duration, Effect, Exit, Layer, Redacted, Ref, Schema } from "effect"
import type { Cause, Option } from "effect"
import { Aead, Digest, SecureRandom } from "effect/crypto"
import type { CryptoError } from "effect/crypto"
import { Hex } from "effect/encoding"
import {
  createCipheriv,
  createDecipheriv,
  createHmac,
  createSecretKey,
  randomBytes,
  timingSafeEqual
} from "node:crypto"
import type { Unreadable } from "../../domain/request/Page.ts"
import * as Rows from "../../sql/Rows.ts"
import * as Transaction from "../../sql/Transaction.ts"
import { client, query } from "../../sql/Transaction.ts"

// The format of sealed secrets: header, a data key wrapped by the master key, and the secret under the data key, both bound to the place.

const withSortedKeys = (value: unknown): unknown => {
  if (Array.isArray(value)) return value.map(withSortedKeys)
  if (typeof value !== "object" || value === null) return value
  return Object.fromEntries(
    Object.entries(value)
      .sort(([one], [other]) => (one < other ? -1 : 1))
      .map(([key, field]) => [key, withSortedKeys(field)])
  )
}

/** JSON text that is the same for equal values: the keys of objects are sorted, and absent fields are left out. */
export const canonicalJson = (value: unknown): string => JSON.stringify(withSortedKeys(value))

/** Where a secret is stored; a ciphertext moved elsewhere does not open. */
export interface SecretPlace {
  readonly table: string
  readonly id: string
  readonly column: string
  /** Columns of the row that say how the secret is used, as JSON. The secret does not open after a change of them. */
  readonly context?: unknown
}

interface MasterKey {
  /** The first bytes of the key's SHA-256, in hex. */
  readonly id: string
  readonly key: Aead.Key
  /** The start of everything that the key seals: version (1 byte) and key id. */
  readonly header: Uint8Array
}

const algorithm = Aead.aes256Gcm

const keyIdLength = 4
const headerLength = 1 + keyIdLength

/** Bytes of nonce, encrypted data key and tag. */
const wrappedKeyLength = algorithm.nonceLength + algorithm.keyLength + 16

const concatBytes = (...parts: ReadonlyArray<Uint8Array>): Uint8Array => {
  const whole = new Uint8Array(parts.reduce((length, part) => length + part.length, 0))
  let offset = 0
  for (const part of parts) {
    whole.set(part, offset)
    offset += part.length
  }
  return whole
}

/** Versions 1 and 2 were not bound to a context, and nothing of them opens. */
const sealVersion = 3

const headerOfKey = (keyId: Uint8Array): Uint8Array => Uint8Array.from([sealVersion, ...keyId])

const isCurrentSeal = (sealed: Uint8Array): boolean => sealed[0] === sealVersion

/** The master key that `sealed` names. */
const keyIdOfSealed = (sealed: Uint8Array): string => Hex.encode(sealed.subarray(1, headerLength))

const associatedData = ({ table, id, column, context }: SecretPlace) => {
  const bound = context !== undefined ? [canonicalJson(context)] : []
  return new TextEncoder().encode(JSON.stringify([table, id, column, ...bound]))
}

type Opened = Effect.Effect<Uint8Array, CryptoError.CryptoError>

const makeEnvelope = Effect.gen(function* () {
  const aead = yield* Aead.Aead
  const random = yield* SecureRandom.SecureRandom

  /** Nonce, ciphertext and tag. */
  const encrypt = Effect.fnUntraced(function* (key: Aead.Key, plaintext: Uint8Array, aad: Uint8Array) {
    const nonce = yield* random.randomBytes(algorithm.nonceLength)
    return concatBytes(nonce, yield* aead.encrypt(key, plaintext, { nonce, aad }))
  })

  const decrypt = (key: Aead.Key, encrypted: Uint8Array, aad: Uint8Array) =>
    aead.decrypt(key, encrypted.subarray(algorithm.nonceLength), {
      nonce: encrypted.subarray(0, algorithm.nonceLength),
      aad
    })

  const wrap = (master: MasterKey, dataKey: Uint8Array, place: SecretPlace) =>
    encrypt(master.key, dataKey, concatBytes(master.header, associatedData(place)))

  /** `aad`: the associated data of the place. */
  const unwrap = (master: MasterKey, sealed: Uint8Array, aad: Uint8Array): Opened =>
    decrypt(
      master.key,
      sealed.subarray(headerLength, headerLength + wrappedKeyLength),
      concatBytes(sealed.subarray(0, headerLength), aad)
    )

  const seal = Effect.fnUntraced(function* (master: MasterKey, secret: Uint8Array, place: SecretPlace) {
    const dataKey = yield* random.randomBytes(algorithm.keyLength)
    const key = yield* Aead.key(algorithm, dataKey)
    return concatBytes(
      master.header,
      yield* wrap(master, dataKey, place),
      yield* encrypt(key, secret, associatedData(place))
    )
  }, Effect.orDie)

  /** `master` is the key that `sealed` names, and `sealed` is of the current version. */
  const open = Effect.fnUntraced(function* (master: MasterKey, sealed: Uint8Array, place: SecretPlace) {
    const aad = associatedData(place)
    const key = yield* Aead.key(algorithm, yield* unwrap(master, sealed, aad))
    return yield* decrypt(key, sealed.subarray(headerLength + wrappedKeyLength), aad)
  })

  /** Seals under `to` what is sealed under `from`: only header and wrapped key change. */
  const rewrap = Effect.fnUntraced(function* (from: MasterKey, to: MasterKey, sealed: Uint8Array, place: SecretPlace) {
    const wrapped = yield* wrap(to, yield* unwrap(from, sealed, associatedData(place)), place)
    return concatBytes(to.header, wrapped, sealed.subarray(headerLength + wrappedKeyLength))
  })

  return { seal, open, rewrap }
})

// The known master keys. The current one seals; a secret is opened with the key that it names.

/** 32 bytes each. */
export interface KeyringKeys {
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
  seal(secret: Redacted.Redacted, place: SecretPlace): Effect.Effect<Uint8Array>
  open(sealed: Uint8Array, place: SecretPlace): Effect.Effect<Redacted.Redacted, SecretUnreadable>
  /** None if it is already sealed with the current key. */
  rewrap(sealed: Uint8Array, place: SecretPlace): Effect.Effect<Option.Option<Uint8Array>, SecretUnreadable>
}

const masterKeyOf = Effect.fnUntraced(function* (bytes: Redacted.Redacted<Uint8Array>) {
  const digest = yield* Digest.Digest
  const id = (yield* digest.digest(Digest.sha256, Redacted.value(bytes))).slice(0, keyIdLength)
  const key = yield* Aead.key(Aead.aes256Gcm, Redacted.value(bytes))
  return { id: Hex.encode(id), key, header: headerOfKey(id), bytes }
}, Effect.orDie)

const startsWith = (bytes: Uint8Array, start: Uint8Array) => start.every((byte, index) => bytes[index] === byte)

const makeKeyring = Effect.fnUntraced(function* ({ current: currentKey, others = [] }: KeyringKeys) {
  const envelope = yield* makeEnvelope
  const current = yield* masterKeyOf(currentKey)
  const known = Arr.dedupeWith([current, ...(yield* Effect.forEach(others, masterKeyOf))], (a, b) => a.id === b.id)
  const byId = new Map(known.map((key) => [key.id, key]))

  const unreadable = ({ table, id, column }: SecretPlace) => new SecretUnreadable({ place: `${table}.${column}`, id })

  const named = (sealed: Uint8Array, place: SecretPlace) => {
    const key = isCurrentSeal(sealed) ? byId.get(keyIdOfSealed(sealed)) : undefined
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

// AES-256-GCM by `node:crypto`. It needs no promise and no import of the key per secret: a plan of a configuration opens thousands.

const nativeName = "aes-256-gcm"

/** Bytes of a tag, which follows the ciphertext. */
const tagLength = 16

const tagOptions = { authTagLength: tagLength }

/** With a key that is not a `KeyObject`, Node needs three times as long. */
const nativeAes: Aead.Implementation = {
  encrypt: (key, nonce, plaintext, aad) => {
    const cipher = createCipheriv(nativeName, createSecretKey(key), nonce, tagOptions).setAAD(aad)
    return Uint8Array.from(Buffer.concat([cipher.update(plaintext), cipher.final(), cipher.getAuthTag()]))
  },
  decrypt: (key, nonce, ciphertext, aad) => {
    const end = ciphertext.length - tagLength
    const tag = ciphertext.subarray(end)
    const decipher = createDecipheriv(nativeName, createSecretKey(key), nonce, tagOptions).setAAD(aad).setAuthTag(tag)
    // The mode has no padding, so that the end adds no bytes. It checks the tag.
    const plaintext = decipher.update(ciphertext.subarray(0, end))
    try {
      decipher.final()
      return new Uint8Array(plaintext)
    } catch {
      // The tag does not match the ciphertext.
      return undefined
    }
  }
}

const layerNativeAead = Aead.layerWebCryptoWith({ implementations: { aes256Gcm: nativeAes } }).pipe(
  Layer.provide(SecureRandom.layerWebCrypto)
)

// The keyring that seals and opens secrets at this moment. A rotation replaces it.

export class ActiveKeyring extends Context.Service<
  ActiveKeyring,
  {
    readonly get: Effect.Effect<Keyring>
    /** Makes another keyring without using it. */
    make(keys: KeyringKeys): Effect.Effect<Keyring>
    use(keyring: Keyring): Effect.Effect<void>
  }
>()("effect-relayer/server/secrets/Secrets/ActiveKeyring") {
  static readonly layer = (keys: KeyringKeys) =>
    Layer.effect(
      ActiveKeyring,
      Effect.gen(function* () {
        const crypto = yield* Effect.context<Aead.Aead | Digest.Digest | SecureRandom.SecureRandom>()
        const make = (keys: KeyringKeys) => Effect.provideContext(makeKeyring(keys), crypto)
        const ref = yield* Ref.make(yield* make(keys))
        return ActiveKeyring.of({ get: Ref.get(ref), make, use: (keyring) => Ref.set(ref, keyring) })
      })
    ).pipe(
      Layer.provide(
        Layer.mergeAll(layerNativeAead, Digest.layerWebCrypto).pipe(Layer.provideMerge(SecureRandom.layerWebCrypto))
      )
    )
}

export class Secrets extends Context.Service<
  Secrets,
  {
    /** Seals under the current master key, with a new data key. */
    seal(secret: Redacted.Redacted, place: SecretPlace): Effect.Effect<Uint8Array>
    /** Opens with the master key that `sealed` names. */
    open(sealed: Uint8Array, place: SecretPlace): Effect.Effect<Redacted.Redacted, SecretUnreadable>
  }
>()("effect-relayer/server/secrets/Secrets") {
  /** A layer of its own for each use, because a shared one would ignore the keys of the second use. */
  static readonly layer = (keys: KeyringKeys) =>
    Layer.effect(
      Secrets,
      Effect.gen(function* () {
        const active = yield* ActiveKeyring
        const seal = Effect.fn("Secrets.seal")(function* (secret: Redacted.Redacted, place: SecretPlace) {
          return yield* (yield* active.get).seal(secret, place)
        })
        // Without a span: a plan of a configuration opens thousands of secrets.
        const open = (sealed: Uint8Array, place: SecretPlace) =>
          Effect.flatMap(active.get, (keyring) => keyring.open(sealed, place))
        return Secrets.of({ seal, open })
      })
    ).pipe(Layer.provideMerge(ActiveKeyring.layer(keys)))
}

// Random secrets that the service makes for itself, such as the key of cursors. All instances share them.
//
// Each is committed by itself before anything is made with it, and this process remembers only what is committed. A secret that is
// stored in the transaction of a request is gone if that is rolled back: no other process could verify what was made with it.

// The table `service_secrets`.

const SecretRow = Schema.Struct({ name: Schema.String, sealed: Schema.Uint8Array })
const readFound = Rows.all(SecretRow)
const readKept = Rows.one(SecretRow)

const makeServiceSecretsRepo = Effect.gen(function* () {
  const sql = yield* client

  /** The sealed secrets by name. Names without a secret are left out. */
  const find = (names: ReadonlyArray<string>) =>
    sql`SELECT name, sealed FROM service_secrets WHERE name = ANY(${names}::text[])`.pipe(
      Effect.flatMap(readFound),
      Effect.map((rows) => new Map(rows.map(({ name, sealed }) => [name, sealed]))),
      query("Secrets.find")
    )

  /** Stores `sealed` unless a secret is stored already; returns the stored one. */
  const keep = (name: string, sealed: Uint8Array) =>
    sql`
      INSERT INTO service_secrets (name, sealed) VALUES (${name}, ${sealed})
      ON CONFLICT (name) DO UPDATE SET name = excluded.name RETURNING name, sealed`.pipe(
      Effect.flatMap(readKept),
      Effect.map((row) => row.sealed),
      query("Secrets.keep")
    )

  return { find, keep }
})

/** All of them are created at the start, so that no request has to store one. */
export const secretNames = ["audit_checkpoints", "configuration", "cursors", "idempotency", "row_macs"] as const
type SecretName = (typeof secretNames)[number]

/** The secrets are compared with the stored ones this often: the database may have been restored, or a replica promoted. */
const interval = Duration.seconds(10)

const place = (name: string) => ({ table: "service_secrets", id: name, column: "sealed" })

const random = () => Redacted.make(randomBytes(32).toString("base64"))

const makeServiceSecrets = Effect.gen(function* () {
  const repo = yield* makeServiceSecretsRepo
  const secrets = yield* Secrets
  const apart = yield* Transaction.apart
  const known = new Map<SecretName, string>()
  /** Reported once. */
  const unreadable = new Set<SecretName>()

  const keep = Effect.fnUntraced(function* (name: string, own: Redacted.Redacted) {
    return yield* repo.keep(name, yield* secrets.seal(own, place(name)))
  })

  const stored = Effect.fnUntraced(function* (name: string, own: Redacted.Redacted) {
    const found = (yield* repo.find([name])).get(name)
    return yield* Effect.orDie(secrets.open(found ?? (yield* keep(name, own)), place(name)))
  })

  /**
   * 256 random bits as base64. Before the start, or if the stored value could not be opened at the start, it is read each time on the
   * connection of the caller, or stored in the transaction of the caller, and never remembered.
   */
  const get = (name: SecretName) =>
    Effect.suspend(() => {
      const secret = known.get(name)
      return secret === undefined ? Effect.map(stored(name, random()), Redacted.value) : Effect.succeed(secret)
    })

  const loadOne = Effect.fnUntraced(function* (name: SecretName, found: Uint8Array | undefined) {
    const before = known.get(name)
    const own = before === undefined ? random() : Redacted.make(before)
    if (found === undefined && before !== undefined) {
      yield* Effect.annotateLogs(
        Effect.logWarning("a secret of the service is not in the database any more: it is stored again"),
        { name }
      )
    }
    const opened = yield* Effect.exit(secrets.open(found ?? (yield* keep(name, own)), place(name)))
    if (Exit.isFailure(opened)) {
      // Another instance may have sealed it with a key that this one does not know. Then this one goes on with what it remembers.
      if (before !== undefined || unreadable.has(name)) return
      unreadable.add(name)
      return yield* Effect.annotateLogs(Effect.logWarning("a secret of the service cannot be opened"), { name })
    }
    const secret = Redacted.value(opened.value)
    if (before !== undefined && before !== secret) {
      yield* Effect.annotateLogs(
        Effect.logWarning("a secret of the service is another one in the database: this process uses that one now"),
        { name }
      )
    }
    known.set(name, secret)
  })

  /**
   * Remembers the stored secrets, and creates those that do not exist. A secret that is remembered but not stored any more is stored
   * again: this process has made rows with it. Never part of the caller's transaction.
   */
  const load = Effect.gen(function* () {
    const found = yield* repo.find(secretNames)
    yield* Effect.forEach(secretNames, (name) => loadOne(name, found.get(name)), { discard: true })
  }).pipe(apart, Effect.withSpan("Secrets.load"))

  const again = Effect.ignoreCause(Effect.delay(load, interval), {
    log: "Debug",
    message: "cannot compare the secrets of the service"
  })
  /** Loads the secrets, and then again and again until the scope closes. The database has to accept what the service seals. */
  const start = Effect.andThen(load, Effect.asVoid(Effect.forkScoped(Effect.forever(again))))

  return {
    get,
    /** Stores `own` unless an instance has stored a secret of this name. Returns the stored one. Never part of the caller's transaction. */
    share: (name: string, own: Redacted.Redacted) => apart(stored(name, own)),
    load,
    start
  }
})

export class ServiceSecrets extends Context.Service<ServiceSecrets, Effect.Success<typeof makeServiceSecrets>>()(
  "effect-relayer/server/secrets/Secrets/ServiceSecrets"
) {
  static readonly layer = Layer.effect(ServiceSecrets, makeServiceSecrets)
}

// Authenticates columns that are not secret but direct how secrets and money are used: a MAC of them is stored in their row.

export interface Row {
  readonly table: string
  readonly id: string
  /** The authenticated columns, as JSON. */
  readonly content: unknown
}

/** Ends a sentence whose subject is a row. */
const cannotBeVerified =
  "cannot be verified: another program or a person changed it in the database, or a defect of an earlier version lost the secret of its MAC"

/** What an operator does, as a part of a sentence. Advice to delete a row would destroy a key that exists nowhere else. */
const repairFirst =
  "`effect-relayer repair` shows the evidence for each cause; restore the row from a backup if it was changed, else confirm it with that command; delete no signer whose key exists nowhere else"

/** The MAC of a row does not fit: somebody changed a column, or another secret made the MAC. This check cannot tell which. */
class RowChanged extends Schema.TaggedError<RowChanged>()("RowChanged", {
  table: Schema.String,
  id: Schema.String
}) {
  override readonly message = `${JSON.stringify(this.id)} of ${this.table} ${cannotBeVerified}; ${repairFirst}`
}

/** The name of the secret of all MACs. */
export const secretName = "row_macs"

/** HMAC-SHA-256 as base64url. */
export const macOf = (secret: string, { table, id, content }: Row): string =>
  createHmac("sha256", secret)
    .update(canonicalJson([table, id, content]))
    .digest("base64url")

export class RowMacs extends Context.Service<
  RowMacs,
  {
    /** HMAC-SHA-256 as base64url. */
    make(row: Row): Effect.Effect<string>
    /** Whether `mac` is the MAC of the row. */
    matches(row: Row, mac: string | null): Effect.Effect<boolean>
    /** Dies with `RowChanged` if `mac` is not the MAC of the row. */
    verify(row: Row, mac: string | null): Effect.Effect<void>
  }
>()("effect-relayer/server/secrets/Secrets/RowMacs") {
  static readonly layer = Layer.effect(
    RowMacs,
    Effect.gen(function* () {
      const secrets = yield* ServiceSecrets

      const make = (row: Row) => Effect.map(secrets.get(secretName), (secret) => macOf(secret, row))

      const isEqual = (one: string, other: string) =>
        one.length === other.length && timingSafeEqual(Buffer.from(one), Buffer.from(other))

      const matches = (row: Row, mac: string | null) =>
        Effect.map(make(row), (expected) => mac !== null && isEqual(mac, expected))

      const verify = (row: Row, mac: string | null) =>
        Effect.flatMap(matches(row, mac), (isVerified) =>
          isVerified ? Effect.void : Effect.die(new RowChanged({ table: row.table, id: row.id }))
        )

      return RowMacs.of({ make, matches, verify })
    })
  ).pipe(Layer.provide(ServiceSecrets.layer))
}

// Recognizes that an effect died because a row cannot be verified, or its sealed value does not open. Lists name such rows beside their items.

export type ChangedRow = SecretUnreadable | RowChanged

export const changedRowIn = ({ reasons }: Cause.Cause<unknown>): ChangedRow | undefined => {
  for (const reason of reasons) {
    if (reason._tag !== "Die") continue
    const { defect } = reason
    if (defect instanceof SecretUnreadable || defect instanceof RowChanged) return defect
  }
  return undefined
}

interface VerifiedRows<Row> {
  readonly items: ReadonlyArray<Row>
  readonly unreadable: ReadonlyArray<Unreadable>
}

/** The rows that `verify` accepts, and the others. */
export const splitVerified = <Row>(rows: ReadonlyArray<Row>, verify: (row: Row) => Effect.Effect<unknown>) =>
  Effect.gen(function* () {
    const exits = yield* Effect.forEach(rows, (row) => Effect.exit(verify(row)))
    const items: globalThis.Array<Row> = []
    const unreadable: globalThis.Array<Unreadable> = []
    for (const [row, exit] of Arr.zip(rows, exits)) {
      if (Exit.isSuccess(exit)) items.push(row)
      else {
        const changed = changedRowIn(exit.cause)
        if (changed === undefined) return yield* Effect.failCause(exit.cause)
        unreadable.push({ id: changed.id, reason: changed.message })
      }
    }
    const found: VerifiedRows<Row> = { items, unreadable }
    return found
  })
