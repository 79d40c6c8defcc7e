// The table `master_key`: a mark of every master key that may have sealed a value.
import { Effect, Schema, Scope } from "effect"
import { RotationRunning } from "../../domain/masterKey/MasterKey.ts"
import { client, query } from "../../sql/Query.ts"
import * as Rows from "../../sql/Rows.ts"

const Mark = Schema.Struct({ key_id: Schema.String, sealed: Schema.Uint8Array })
export type Mark = typeof Mark.Type

const readMarks = Rows.all(Mark)

export const make = Effect.gen(function* () {
  const sql = yield* client

  const turn = sql`SELECT pg_advisory_xact_lock(hashtextextended('effect-relayer master_key', 0))`
  const select = Effect.flatMap(sql`SELECT key_id, sealed FROM master_key ORDER BY key_id`, readMarks)

  /** Adds a mark if the key has none and `check` of the marks before succeeds. One caller at a time, of all instances. */
  const admit = <E>(mark: Mark, check: (before: ReadonlyArray<Mark>) => Effect.Effect<void, E>) =>
    Effect.gen(function* () {
      yield* turn
      yield* check(yield* select)
      yield* sql`INSERT INTO master_key ${sql.insert({ ...mark })} ON CONFLICT (key_id) DO NOTHING`
    }).pipe(sql.withTransaction, query("MasterKeyRepo.admit"))

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
    }).pipe(sql.withTransaction, query("MasterKeyRepo.retireOthers"))

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
    all: select.pipe(query("MasterKeyRepo.all")),
    admit,
    retireOthers,
    exclusively
  }
})

export type MasterKeyRepo = Effect.Success<typeof make>
