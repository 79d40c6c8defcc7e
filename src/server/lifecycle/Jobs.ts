// What runs in the background of this process, and whether it does its work.
import { type Cause, Clock, Context, Duration, Effect, Layer } from "effect"
import type { Scope } from "effect"
import type { WorkerStatus } from "../../api/SystemApi.ts"

export type WorkerName = "health_checks" | "deliveries"

/** A loop without a good round for so long does not do its work. Rounds take a second, or a few. */
const patience = Duration.seconds(30)

/** After a round that failed. */
const pause = Duration.seconds(1)

export type Statuses = Readonly<Record<WorkerName, WorkerStatus>>

export const worstStatus = (statuses: ReadonlyArray<WorkerStatus>): WorkerStatus =>
  (["unhealthy", "healthy"] as const).find((status) => statuses.includes(status)) ?? "off"

interface Loop {
  readonly worker: WorkerName
  /** When its last good round ended: of a clock that nobody sets. */
  last: bigint
  failing: boolean
}

export class Workers extends Context.Service<
  Workers,
  {
    /** Runs round after round, each of which waits for its time by itself, whatever fails in one. Ends with the scope. */
    run(worker: WorkerName, round: Effect.Effect<void>): Effect.Effect<void, never, Scope.Scope>
    /** `off`: not run by this process. A worker is as well as the worst of its loops. */
    readonly statuses: Effect.Effect<Statuses>
  }
>()("effect-relayer/server/lifecycle/Jobs/Workers") {
  static readonly layer = Layer.sync(Workers, () => {
    const loops = new Set<Loop>()

    const run = Effect.fnUntraced(function* (worker: WorkerName, round: Effect.Effect<void>) {
      const loop: Loop = { worker, last: yield* Clock.monotonicTimeNanos, failing: false }
      yield* Effect.acquireRelease(
        Effect.sync(() => loops.add(loop)),
        () => Effect.sync(() => loops.delete(loop))
      )

      const succeeded = Effect.gen(function* () {
        loop.last = yield* Clock.monotonicTimeNanos
        if (!loop.failing) return
        loop.failing = false
        yield* Effect.annotateLogs(Effect.logInfo("job recovered"), { job: worker })
      })

      const failed = Effect.fnUntraced(function* (cause: Cause.Cause<unknown>) {
        const log = loop.failing ? Effect.logDebug("job failed", cause) : Effect.logWarning("job failed", cause)
        yield* Effect.annotateLogs(log, { job: worker })
        loop.failing = true
        yield* Effect.sleep(pause)
      })

      yield* round.pipe(Effect.andThen(succeeded), Effect.catchCause(failed), Effect.forever, Effect.forkScoped)
    })

    const statuses = Effect.map(Clock.monotonicTimeNanos, (now) => {
      const statusOf = (name: WorkerName): WorkerStatus => {
        const own = [...loops].filter(({ worker }) => worker === name)
        if (own.length === 0) return "off"
        const isLate = own.some(({ last }) => now - last > Duration.toNanosUnsafe(patience))
        return isLate ? "unhealthy" : "healthy"
      }
      return { health_checks: statusOf("health_checks"), deliveries: statusOf("deliveries") }
    })

    return Workers.of({ run, statuses })
  })
}
