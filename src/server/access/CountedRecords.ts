// Records of what callers may repeat at will, such as refusals: they must not fill the audit log.
import { Duration, Effect, Exit, FiberSet } from "effect"
import { SqlClient } from "effect/sql"

/** The first of a name is recorded at once, and further ones of this time are recorded together at its end. */
export const interval = Duration.minutes(1)

interface Further<A> {
  readonly last: A
  readonly count: number
}

/** `record` gets the last one, and how many there were. It is also called if the instance stops before the end of the interval. */
export const make = Effect.fnUntraced(function* <A>(record: (last: A, count: number) => Effect.Effect<void>) {
  const sql = yield* SqlClient.SqlClient
  const run = yield* FiberSet.makeRuntime<never>()
  /** An entry exists for the interval after a record. */
  const further = new Map<string, Further<A> | undefined>()

  const recordFurther = (name: string) =>
    Effect.suspend(() => {
      const found = further.get(name)
      further.delete(name)
      return found === undefined ? Effect.void : record(found.last, found.count)
    })

  const begin = (name: string) =>
    Effect.sync(() => {
      if (further.has(name)) return
      further.set(name, undefined)
      run(Effect.ensuring(Effect.sleep(interval), recordFurther(name)))
    })

  const count = (name: string, last: A) =>
    Effect.sync(() => void further.set(name, { last, count: (further.get(name)?.count ?? 0) + 1 }))

  /**
   * If the record is interrupted, it is recorded with the further ones. If it is part of a transaction that is rolled back, the next one
   * is the first.
   */
  const recordFirst = (name: string, one: A) =>
    Effect.andThen(sql.afterCommit(begin(name)), record(one, 1)).pipe(
      Effect.onExit((exit) => (Exit.isFailure(exit) && further.has(name) ? count(name, one) : Effect.void))
    )

  return (name: string, one: A): Effect.Effect<void> =>
    Effect.suspend(() => (further.has(name) ? count(name, one) : recordFirst(name, one)))
})
