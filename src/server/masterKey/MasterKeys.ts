// The rotation of the master key, while the service serves.
import { Context, Effect, Fiber, Layer, Option, Redacted } from "effect"
import { SecureRandom } from "effect/crypto"
import { MasterKeyRotation } from "../../domain/masterKey/MasterKey.ts"
import type { RotationRunning } from "../../domain/masterKey/MasterKey.ts"
import * as Transaction from "../../sql/Transaction.ts"
import { Changes } from "../changes/Changes.ts"
import { ActiveKeyring } from "../secrets/ActiveKeyring.ts"
import type { Keyring, SecretUnreadable } from "../secrets/Keyring.ts"
import { admit } from "./MasterKey.ts"
import type { WrongMasterKey } from "./MasterKey.ts"
import { MasterKeyRepo } from "./MasterKeyRepo.ts"
import { MasterKeyStore } from "./MasterKeyStore.ts"
import type { Store } from "./MasterKeyStore.ts"
import { SealedRepo, sealedColumns } from "./SealedRepo.ts"
import type { Sealed, SealedColumn } from "./SealedRepo.ts"

/** Values that are re-wrapped at once. */
const batch = 500

/** Until values that others were changing may be free. */
const pause = "100 millis"

export class MasterKeys extends Context.Service<
  MasterKeys,
  {
    /**
     * Takes a new master key into use where a `MasterKeyStore` keeps them, re-wraps every sealed value that is not under
     * the current key, and then takes the marks of all other keys away: what an instance seals that still has another
     * current key is refused by the database from then on. Stopped at any point, it leaves everything readable, and the
     * next run finishes it. `SecretUnreadable` of a value that cannot be opened: what it is, is logged. Takes two
     * connections; called in a transaction, it is no part of it, and waits for what that has sealed until it times out.
     */
    readonly rotate: Effect.Effect<MasterKeyRotation, RotationRunning | WrongMasterKey | SecretUnreadable>
  }
>()("effect-relayer/server/masterKey/MasterKeys") {
  static readonly layerNoDeps = Layer.effect(
    MasterKeys,
    Effect.gen(function* () {
      const active = yield* ActiveKeyring
      const marks = yield* MasterKeyRepo
      const values = yield* SealedRepo
      const store = yield* MasterKeyStore
      const random = yield* SecureRandom.SecureRandom
      const changes = yield* Changes
      const transaction = yield* Transaction.make
      const scope = yield* Effect.scope

      /** The keyring in use, with a new current key that is kept already. */
      const renew = Effect.fnUntraced(function* ({ keep }: Store) {
        const key = Redacted.make(yield* Effect.orDie(random.randomBytes(32)))
        const before = yield* active.get
        const [current, ...others] = before.keys.values()
        const marked = new Set((yield* marks.all).map(({ key_id }) => key_id))
        const needed = [...before.keys].flatMap(([id, known]) => (marked.has(id) ? [known] : []))
        // Known from the moment it is kept: a run that ends in between must not forget it.
        yield* Effect.uninterruptible(
          Effect.gen(function* () {
            yield* keep([key, ...needed])
            yield* active.use(yield* active.make({ current: current ?? key, others: [...others, key] }))
          })
        )
        return yield* active.make({ current: key, others: [...before.keys.values()] })
      })

      const rewrap = Effect.fnUntraced(function* (keyring: Keyring, { table, column }: SealedColumn, value: Sealed) {
        const rewrapped = yield* keyring
          .rewrap(value.sealed, { table, id: value.id, column })
          .pipe(
            Effect.tapError(() =>
              Effect.annotateLogs(Effect.logError("sealed value cannot be opened"), { table, column, id: value.id })
            )
          )
        return Option.match(rewrapped, { onNone: () => [], onSome: (rewrapped) => [{ ...value, rewrapped }] })
      })

      /** Once over all values. */
      const walk = Effect.fnUntraced(function* (keyring: Keyring) {
        const walked = { found: 0, rewrapped: 0 }
        for (const column of sealedColumns) {
          let last: Sealed | undefined
          do {
            const page = yield* values.stale(column, keyring.header, last?.id ?? "", batch)
            const changes = yield* Effect.forEach(page, (value) => rewrap(keyring, column, value))
            if (page.length > 0) walked.rewrapped += yield* values.replace(column, changes.flat())
            walked.found += page.length
            last = page[batch - 1]
          } while (last !== undefined)
        }
        return walked
      })

      /** The end of it, on record in the same transaction. */
      const retire = <E>(keyring: Keyring, isFree: Effect.Effect<boolean, E>, rewrapped: () => number) =>
        marks.retireOthers(keyring.keyId, isFree).pipe(
          Effect.tap((isRetired) => {
            const after = { key_id: keyring.keyId, rewrapped: rewrapped() }
            return isRetired
              ? changes.record({ action: "master_key.rotated", id: keyring.keyId, schema: MasterKeyRotation, after })
              : Effect.void
          }),
          transaction
        )

      const rewrapAll = Effect.fnUntraced(function* (keyring: Keyring) {
        let rewrapped = 0
        const step = Effect.tap(walk(keyring), (walked) => Effect.sync(() => (rewrapped += walked.rewrapped)))
        const isFree = Effect.map(Effect.andThen(step, values.anyStale(keyring.header)), (stale) => !stale)
        for (;;) {
          const walked = yield* step
          const few = walked.found < batch
          if (few && (yield* retire(keyring, isFree, () => rewrapped))) return rewrapped
          if (walked.rewrapped === 0) yield* Effect.sleep(pause)
        }
      })

      const rotate = Effect.gen(function* () {
        const keyring = yield* Option.match(store, { onNone: () => active.get, onSome: renew })
        yield* admit(keyring)
        yield* active.use(keyring)
        const rewrapped = yield* rewrapAll(keyring)
        const [current] = keyring.keys.values()
        if (Option.isSome(store) && current !== undefined) yield* store.value.keep([current])
        yield* Effect.annotateLogs(Effect.logInfo("master key rotated"), { key_id: keyring.keyId, rewrapped })
        return { key_id: keyring.keyId, rewrapped }
      }).pipe(
        Effect.provideService(MasterKeyRepo, marks),
        marks.exclusively,
        marks.outsideTransaction,
        Effect.withSpan("MasterKeys.rotate")
      )

      // A caller who waits no longer does not stop it.
      return MasterKeys.of({ rotate: Effect.flatMap(Effect.forkIn(rotate, scope), Fiber.join) })
    })
  )

  static readonly layer = this.layerNoDeps.pipe(
    Layer.provide([MasterKeyRepo.layer, SealedRepo.layer, SecureRandom.layerWebCrypto])
  )
}
