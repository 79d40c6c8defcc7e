// Wakes a job of this instance when a committed transaction has left work for it. Other instances find the work when they
// poll the database.
import { Context, Duration, Effect, Latch, Layer } from "effect"
import { SqlClient } from "effect/sql"
import type { JobName } from "../../api/SystemApi.ts"

export interface CommitSignal {
  /** Wakes the job at once. */
  readonly now: Effect.Effect<void>
  /** Wakes the job when the running transaction has been committed; at once if no transaction is running. */
  readonly afterCommit: Effect.Effect<void>
  /** Waits until the job is woken, but not longer than `atMost`. */
  wait(atMost?: Duration.Input): Effect.Effect<void>
}

/** The signals of this instance, one per job. `Lifecycle` provides them once: raising and waiting have to share a signal. */
export class CommitSignals extends Context.Service<CommitSignals, { get(job: JobName): CommitSignal }>()(
  "effect-relayer/server/lifecycle/CommitSignal/CommitSignals"
) {
  static readonly layer = Layer.effect(
    CommitSignals,
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const signals = new Map<JobName, CommitSignal>()

      const add = (job: JobName): CommitSignal => {
        const latch = Latch.makeUnsafe(false)
        const now = Effect.asVoid(latch.open)
        const signal: CommitSignal = {
          now,
          afterCommit: sql.afterCommit(now),
          wait: (atMost = Duration.infinity) =>
            Effect.andThen(Effect.timeoutOption(latch.await, atMost), Effect.asVoid(latch.close))
        }
        signals.set(job, signal)
        return signal
      }

      return CommitSignals.of({ get: (job) => signals.get(job) ?? add(job) })
    })
  )
}

/** The signal of a job. All callers with the same name share it. */
export const make = (job: JobName): Effect.Effect<CommitSignal, never, CommitSignals> =>
  Effect.map(CommitSignals, (signals) => signals.get(job))
