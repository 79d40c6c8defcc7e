// The master keys of the database: checked at the start, and rotated while the service runs.
import { Context, Effect, Fiber, Layer, Option, Redacted, Schema, Scope } from "effect"
import type { Array } from "effect"
import { SecureRandom } from "effect/crypto"
import * as Caller from "../../domain/access/Caller.ts"
import { MasterKeyRotated, RotationRunning } from "../../domain/masterKey/MasterKey.ts"
import type { MasterKeyRotation } from "../../domain/masterKey/MasterKey.ts"
import * as Rows from "../../sql/Rows.ts"
import { Changes } from "../changes/Changes.ts"
import * as Shown from "../../domain/request/Shown.ts"
import * as Transaction from "../../sql/Transaction.ts"
import { client, query } from "../../sql/Transaction.ts"
import { ActiveKeyring, ServiceSecrets } from "../secrets/Secrets.ts"
import type { Keyring, SecretUnreadable } from "../secrets/Secrets.ts"
import * as ProtectedRowsRepo from "./ProtectedRowsRepo.ts"
import { sealedColumns } from "./ProtectedRowsRepo.ts"
import type { Sealed, SealedColumn } from "./ProtectedRowsRepo.ts"

// The place where the process stores master keys. Without a store, a rotation uses the current key of the configuration.

export interface KeyStore {
  /** Stores exactly these keys, durably, in one step. The first is the current key of the next start. */
  keep(keys: Array.NonEmptyReadonlyArray<Redacted.Redacted<Uint8Array>>): Effect.Effect<void>
  /** The files that contain the current and the earlier keys. */
  readonly files: Effect.Effect<ReadonlyArray<string>>
}

/** Only for an instance that uses its database alone: other instances would not learn of a new key. */
export const MasterKeyStore = Context.Reference<Option.Option<KeyStore>>(
  "effect-relayer/server/masterKey/MasterKeys/MasterKeyStore",
  {
    defaultValue: Option.none
  }
)

// The table `master_key`: a mark of every master key that may have sealed a value.

const KeyMark = Schema.Struct({ key_id: Schema.String, sealed: Schema.Uint8Array })
export type KeyMark = typeof KeyMark.Type

const readMarks = Rows.all(KeyMark)

export const makeMasterKeyRepo = Effect.gen(function* () {
  const sql = yield* client

  const turn = sql`SELECT pg_advisory_xact_lock(hashtextextended('effect-relayer master_key', 0))`
  const select = Effect.flatMap(sql`SELECT key_id, sealed FROM master_key ORDER BY key_id`, readMarks)

  /** Adds a mark if the key has none and `check` of the marks before succeeds. One caller at a time, of all instances. */
  const admit = <E>(mark: KeyMark, check: (before: ReadonlyArray<KeyMark>) => Effect.Effect<void, E>) =>
    Effect.gen(function* () {
      yield* turn
      yield* check(yield* select)
      yield* sql`INSERT INTO master_key ${sql.insert({ ...mark })} ON CONFLICT (key_id) DO NOTHING`
    }).pipe(sql.withTransaction, query("MasterKeys.admit"))

  /**
   * Deletes the marks of all other keys if `isFree`, in one transaction. It waits for transactions that have written
   * values under such a key, and no transaction can write more of them until it ends.
   */
  const retireOthers = <E>(keyId: string, isFree: Effect.Effect<boolean, E>) =>
    Effect.gen(function* () {
      yield* turn
      // Conflicts with the locks that the foreign keys of sealed values take.
      yield* sql`SELECT 1 FROM master_key WHERE key_id <> ${keyId} ORDER BY key_id FOR UPDATE`
      if (!(yield* isFree)) return false
      yield* sql`DELETE FROM master_key WHERE key_id <> ${keyId}`
      return true
    }).pipe(sql.withTransaction, query("MasterKeys.retireOthers"))

  const rotationLock = Effect.fnUntraced(function* (scope: Scope.Scope) {
    const connection = yield* Scope.provide(sql.reserve, scope)
    const call = (name: string) =>
      connection.executeValues(`SELECT ${name}(hashtextextended('effect-relayer rotation', 0))`, [])
    return yield* Effect.uninterruptible(
      Effect.gen(function* () {
        const [row] = yield* call("pg_try_advisory_lock")
        const locked = row?.[0] === true
        // If the connection is broken, the database has released the lock.
        if (locked) yield* Scope.addFinalizer(scope, Effect.ignore(call("pg_advisory_unlock")))
        return locked
      })
    )
  }, Effect.orDie)

  /** Runs `self` for one caller at a time, of all instances. Holds a connection meanwhile. */
  const exclusively = <A, E, R>(self: Effect.Effect<A, E, R>) =>
    Effect.scopedWith((scope) =>
      Effect.flatMap(rotationLock(scope), (locked): Effect.Effect<A, E | RotationRunning, R> =>
        locked ? self : Effect.fail(new RotationRunning({}))
      )
    )

  return {
    all: select.pipe(query("MasterKeys.all")),
    admit,
    retireOthers,
    exclusively
  }
})

export type MasterKeyRepo = Effect.Success<typeof makeMasterKeyRepo>

// Checks at the start that the service knows every master key that may have sealed a secret in the database.

/**
 * The database contains secrets under master keys that the service was not given, or the marks of given keys do not open, which says nothing
 * about the keys.
 */
export class WrongMasterKey extends Schema.TaggedError<WrongMasterKey>()("WrongMasterKey", {
  /** The ids of those keys: four bytes in hex. */
  unknown: Schema.Array(Shown.hex(8)),
  /** Whether the service was given another key that the database knows. */
  isPartial: Schema.Boolean,
  /** Whether the service was given keys with all of these ids. */
  isGiven: Schema.Boolean
}) {
  override readonly message = this.isGiven
    ? `masterKey: ${this.unopened}`
    : `masterKey: the database contains secrets under other master keys: ${this.unknown.join(", ")}; give that key, or add it to decryptionKeys`

  /** What happened if keys with these ids were given. */
  get unopened(): string {
    return `the database has a mark of the given master key (key id ${this.unknown.join(", ")}) that does not open, which does not say that the key is wrong: another version wrote the mark in a format that this version does not read, or a person or another program changed it`
  }
}

/** The place that each mark is bound to. The id dates from when there was one mark. */
const placeOfMark = { table: "master_key", id: "true", column: "sealed" }

const checkMarks = Effect.fnUntraced(function* (keyring: Keyring, marks: ReadonlyArray<KeyMark>) {
  const unopened = yield* Effect.filter(marks, ({ sealed }) =>
    Effect.map(Effect.isSuccess(keyring.open(sealed, placeOfMark)), (known) => !known)
  )
  if (unopened.length === 0) return
  const missing = unopened.filter(({ key_id }) => !keyring.keys.has(key_id))
  const isGiven = missing.length === 0
  const unknown = isGiven ? unopened : missing
  return yield* new WrongMasterKey({
    unknown: unknown.map(({ key_id }) => key_id),
    isPartial: unknown.length < marks.length,
    isGiven
  })
})

const markOf = (keyring: Keyring) =>
  Effect.map(keyring.seal(Redacted.make("effect-relayer"), placeOfMark), (sealed): KeyMark => ({
    key_id: keyring.keyId,
    sealed
  }))

/** Adds a mark for the current key. Without a mark, the database refuses what the key seals. */
const admitKeyring = Effect.fn("MasterKey.admit")(function* (repo: MasterKeyRepo, keyring: Keyring) {
  yield* repo.admit(yield* markOf(keyring), (marks) => checkMarks(keyring, marks))
})

/** Starts the secrets of the service, too: the database accepts what the service seals only after the check. */
export const layerMasterKeyCheck = Layer.effectDiscard(
  Effect.gen(function* () {
    yield* admitKeyring(yield* makeMasterKeyRepo, yield* (yield* ActiveKeyring).get)
    yield* (yield* ServiceSecrets).start
  })
).pipe(Layer.provide(ServiceSecrets.layer))

// Walks over the sealed values of all tables and brings them under the current key.

/** Values that are re-wrapped with one statement. */
const rewrapBatch = 500

/** How many stale values a walk found, and how many it re-wrapped: fewer if values were locked or have changed. */
interface Walked {
  readonly found: number
  readonly rewrapped: number
}

const rewrapValue = (keyring: Keyring, { table, column }: SealedColumn, { id, sealed, context }: Sealed) =>
  keyring
    .rewrap(sealed, { table, id, column, ...(context === null ? {} : { context }) })
    .pipe(
      Effect.tapError(() =>
        Effect.annotateLogs(Effect.logError("sealed value cannot be opened"), { table, column, id })
      )
    )

const makeRewrapping = Effect.gen(function* () {
  const values = yield* ProtectedRowsRepo.makeSealedRepo

  const replace = (column: SealedColumn, changes: ReadonlyArray<ProtectedRowsRepo.Rewrapped>, takesTurns: boolean) => {
    const { turn } = column
    if (turn === undefined || !takesTurns) return values.replace(column, changes)
    // One row at a time, so that two orders of turns cannot meet.
    return Effect.reduce(
      changes,
      () => 0,
      (count, change) => Effect.map(values.replaceInTurn(column, turn, change), (replaced) => count + replaced)
    )
  }

  /**
   * Re-wraps all stale values once. It fails at a value that cannot be opened, which the log names. `takesTurns`: it waits for the transactions that share locks of
   * rows, which never leave a row free if they overlap. It must not be part of a transaction then.
   */
  return Effect.fnUntraced(function* (keyring: Keyring, takesTurns: boolean) {
    const rewrap = (column: SealedColumn, value: Sealed) =>
      rewrapValue(keyring, column, value).pipe(
        Effect.map((found) =>
          Option.match(found, { onNone: () => [], onSome: (rewrapped) => [{ ...value, rewrapped }] })
        )
      )

    const walked = { found: 0, rewrapped: 0 }
    for (const column of sealedColumns) {
      let last: Sealed | undefined
      do {
        const page = yield* values.stale(column, keyring.header, last?.id ?? "", rewrapBatch)
        const changes = yield* Effect.forEach(page, (value) => rewrap(column, value))
        if (page.length > 0) walked.rewrapped += yield* replace(column, changes.flat(), takesTurns)
        walked.found += page.length
        last = page[rewrapBatch - 1]
      } while (last !== undefined)
    }
    return walked
  })
})

const noteOf = (files: ReadonlyArray<string>) =>
  files.length === 0
    ? "Backups from before this rotation need the previous master key: keep it."
    : "Copy these key files to a place where the backups are not: earlier copies do not contain the new key. Backups from before this rotation need the earlier key."

/** Time after which values that other transactions had locked may be free. */
const lockPause = "100 millis"

export class MasterKeys extends Context.Service<
  MasterKeys,
  {
    /**
     * Re-wraps every sealed value that is not under the current key. If there is a `MasterKeyStore`, it first creates a new
     * current key. At the end it deletes the marks of all other keys: from then on, the database refuses values that an
     * instance seals with another key. If the rotation is interrupted, every value stays readable, and the next rotation
     * completes it. Fails with `SecretUnreadable` if a value cannot be opened; the log names it. Uses two connections. It
     * is never part of the caller's transaction, and waits for values which that transaction has sealed until it times out.
     * With a `MasterKeyStore` it fails with `Forbidden` unless the caller is the administrator or a program: copies of the
     * stored key that the operator made become outdated.
     */
    readonly rotate: Effect.Effect<
      MasterKeyRotation,
      Caller.Forbidden | RotationRunning | WrongMasterKey | SecretUnreadable
    >
  }
>()("effect-relayer/server/masterKey/MasterKeys") {
  /** @internal */
  static readonly layer = Layer.effect(
    MasterKeys,
    Effect.gen(function* () {
      const active = yield* ActiveKeyring
      const marks = yield* makeMasterKeyRepo
      const values = yield* ProtectedRowsRepo.makeSealedRepo
      const walk = yield* makeRewrapping
      const store = yield* MasterKeyStore
      const random = yield* SecureRandom.SecureRandom
      const changes = yield* Changes
      const transaction = yield* Transaction.make
      const apart = yield* Transaction.apart
      const scope = yield* Effect.scope

      /** Creates and stores a new master key. Returns the keyring with the new key as the current one. */
      const renew = Effect.fnUntraced(function* ({ keep }: KeyStore) {
        const key = Redacted.make(yield* Effect.orDie(random.randomBytes(32)))
        const before = yield* active.get
        const [current, ...others] = before.keys.values()
        const marked = new Set((yield* marks.all).map(({ key_id }) => key_id))
        const needed = [...before.keys].flatMap(([id, known]) => (marked.has(id) ? [known] : []))
        // The active keyring gets the new key as soon as it is stored: an interrupted rotation must not lose it.
        yield* Effect.uninterruptible(
          Effect.gen(function* () {
            yield* keep([key, ...needed])
            yield* active.use(yield* active.make({ current: current ?? key, others: [...others, key] }))
          })
        )
        return yield* active.make({ current: key, others: [...before.keys.values()] })
      })

      /** Deletes the marks of the other keys, and records the rotation in the same transaction. */
      const retire = <E>(keyring: Keyring, isFree: Effect.Effect<boolean, E>, rewrapped: () => number) =>
        marks.retireOthers(keyring.keyId, isFree).pipe(
          Effect.tap((isRetired) => {
            const after = { key_id: keyring.keyId, rewrapped: rewrapped() }
            return isRetired
              ? changes.record({ action: "master_key.rotated", id: keyring.keyId, schema: MasterKeyRotated, after })
              : Effect.void
          }),
          transaction
        )

      const rewrapAll = Effect.fnUntraced(function* (keyring: Keyring) {
        let rewrapped = 0
        const step = (takesTurns: boolean) =>
          Effect.tap(walk(keyring, takesTurns), (walked) => Effect.sync(() => (rewrapped += walked.rewrapped)))
        const isFree = Effect.map(Effect.andThen(step(false), values.anyStale(keyring.header)), (isAny) => !isAny)
        // Transactions that are accepted share the lock of their relayer, so a busy relayer may never be free without a turn.
        let takesTurns = false
        for (;;) {
          const walked: Walked = yield* step(takesTurns)
          const few = walked.found < rewrapBatch
          if (few && (yield* retire(keyring, isFree, () => rewrapped))) return rewrapped
          takesTurns = walked.rewrapped === 0
          if (takesTurns) yield* Effect.sleep(lockPause)
        }
      })

      const rotate = Effect.gen(function* () {
        const keyring = yield* Option.match(store, { onNone: () => active.get, onSome: renew })
        yield* admitKeyring(marks, keyring)
        yield* active.use(keyring)
        const rewrapped = yield* rewrapAll(keyring)
        const [current] = keyring.keys.values()
        if (Option.isSome(store) && current !== undefined) yield* store.value.keep([current])
        const key_files = yield* Option.match(store, { onNone: () => Effect.succeed([]), onSome: ({ files }) => files })
        const rotation = { key_id: keyring.keyId, rewrapped, key_files, note: noteOf(key_files) }
        yield* Effect.annotateLogs(Effect.logWarning("master key rotated"), rotation)
        return rotation
      }).pipe(
        Effect.provideService(ActiveKeyring, active),
        marks.exclusively,
        apart,
        Effect.withSpan("MasterKeys.rotate")
      )

      // The rotation continues if its caller is interrupted.
      const run = Effect.flatMap(Effect.forkIn(rotate, scope), Fiber.join)

      const rotateIfAllowed = Effect.gen(function* () {
        const isAllowed = Option.isNone(store) || Caller.isAdministrator(yield* Caller.current)
        return yield* isAllowed ? run : new Caller.Forbidden({})
      })

      return MasterKeys.of({ rotate: rotateIfAllowed })
    })
  ).pipe(Layer.provide(SecureRandom.layerWebCrypto))
}
