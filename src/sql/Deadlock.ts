// Repeats a transaction that PostgreSQL ended to resolve a deadlock.
import { Effect, Schedule } from "effect"
import { SqlError } from "effect/sql"

/** Each deadlock ends one transaction, so another one has made progress. */
const retries = 5

const isDeadlock = (defect: unknown): boolean => SqlError.isSqlError(defect) && defect.reason._tag === "DeadlockError"

class Deadlocked {
  readonly _tag = "Deadlocked"
  readonly defect: unknown
  constructor(defect: unknown) {
    this.defect = defect
  }
}

/** `transaction` has to begin a transaction of its own. Apart from deadlocks, failures and defects stay as they are. */
export const retry = <A, E, R>(transaction: Effect.Effect<A, E, R>): Effect.Effect<A, E, R> =>
  transaction.pipe(
    Effect.catchDefect((defect) => (isDeadlock(defect) ? Effect.fail(new Deadlocked(defect)) : Effect.die(defect))),
    Effect.retry({ while: (error) => error instanceof Deadlocked, schedule: Schedule.recurs(retries) }),
    Effect.catchIf(
      (error): error is Deadlocked => error instanceof Deadlocked,
      ({ defect }) => Effect.die(defect)
    )
  ) as Effect.Effect<A, E, R>
