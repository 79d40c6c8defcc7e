// Rotates the master key while the service runs.
import { Context, Effect, Fiber, Layer, Option, Redacted } from "effect"
import { SecureRandom } from "effect/crypto"
import { MasterKeyRotated } from "../../domain/masterKey/MasterKey.ts"
import type { MasterKeyRotation, RotationRunning } from "../../domain/masterKey/MasterKey.ts"
import * as Caller from "../../domain/access/Caller.ts"
import * as Transaction from "../../sql/Transaction.ts"
import { Changes } from "../changes/Changes.ts"
import { ActiveKeyring } from "../secrets/ActiveKeyring.ts"
import type { Keyring, SecretUnreadable } from "../secrets/Keyring.ts"
import { admit } from "./MasterKey.ts"
import type { WrongMasterKey } from "./MasterKey.ts"
import * as MasterKeyRepo from "./MasterKeyRepo.ts"
import { MasterKeyStore } from "./MasterKeyStore.ts"
import type { Store } from "./MasterKeyStore.ts"
import * as Rewrapping from "./Rewrapping.ts"
import * as SealedRepo from "./SealedRepo.ts"

const noteOf = (files: ReadonlyArray<string>) =>
  files.length === 0
    ? "Backups from before this rotation need the previous master key: keep it."
    : "Copy these key files to a place where the backups are not: earlier copies do not contain the new key. Backups from before this rotation need the earlier key."

/** Time after which values that other transactions had locked may be free. */
const pause = "100 millis"

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
      const marks = yield* MasterKeyRepo.make
      const values = yield* SealedRepo.make
      const walk = yield* Rewrapping.make
      const store = yield* MasterKeyStore
      const random = yield* SecureRandom.SecureRandom
      const changes = yield* Changes
      const transaction = yield* Transaction.make
      const apart = yield* Transaction.apart
      const scope = yield* Effect.scope

      /** Creates and stores a new master key. Returns the keyring with the new key as the current one. */
      const renew = Effect.fnUntraced(function* ({ keep }: Store) {
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
          const walked: Rewrapping.Walked = yield* step(takesTurns)
          const few = walked.found < Rewrapping.batch
          if (few && (yield* retire(keyring, isFree, () => rewrapped))) return rewrapped
          takesTurns = walked.rewrapped === 0
          if (takesTurns) yield* Effect.sleep(pause)
        }
      })

      const rotate = Effect.gen(function* () {
        const keyring = yield* Option.match(store, { onNone: () => active.get, onSome: renew })
        yield* admit(marks, keyring)
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
