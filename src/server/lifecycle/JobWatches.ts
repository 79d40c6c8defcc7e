// Watches the tasks of jobs: reports failures once per episode, and knows which jobs do their work.
import { Clock, Duration, Effect } from "effect"
import type { Scope } from "effect"
import type { JobName, JobStatus } from "../../api/SystemApi.ts"

/** A job is unhealthy if one of its tasks has not succeeded for this long after the task began. */
const patience = Duration.seconds(30)

/** After a failure. */
const pause = Duration.seconds(1)

export interface Task {
  readonly job: JobName
  /** Names the task within its job, in the log. */
  readonly task: string
}

interface Watch extends Task {
  /** Monotonic nanoseconds: when the work began that has not succeeded yet. */
  since: bigint | undefined
  isFailing: boolean
}

export interface JobWatches {
  /** Watches a task until the scope closes. */
  add(task: Task): Effect.Effect<Watch, never, Scope.Scope>
  /** Runs work of a watched task until it succeeds, with a pause after each failure. */
  untilDone<A>(own: Watch, work: Effect.Effect<A>): Effect.Effect<A>
  /** Reports a failure and pauses. */
  failed(own: Watch, cause: unknown): Effect.Effect<void>
  /** A job is as healthy as the worst of its tasks; `off` if it has none. */
  statusOf(job: JobName, now: bigint): JobStatus
}

const isLate = ({ since }: Watch, now: bigint) => since !== undefined && now - since > Duration.toNanosUnsafe(patience)

const annotate = ({ job, task }: Task) => Effect.annotateLogs({ job, task })

export const make = (): JobWatches => {
  const watches = new Set<Watch>()

  const add = (task: Task) =>
    Effect.acquireRelease(
      Effect.sync(() => {
        const added: Watch = { ...task, since: undefined, isFailing: false }
        watches.add(added)
        return added
      }),
      (added) => Effect.sync(() => watches.delete(added))
    )

  /** An episode begins with the first failure of a task and ends when all of its fibers succeed again. */
  const isInEpisode = ({ job, task }: Task) =>
    [...watches].some((other) => other.isFailing && other.job === job && other.task === task)

  const failed = (own: Watch, cause: unknown) =>
    Effect.suspend(() => {
      const log = isInEpisode(own) ? Effect.logDebug : Effect.logWarning
      own.isFailing = true
      return annotate(own)(log("job failed", cause))
    }).pipe(Effect.andThen(Effect.sleep(pause)))

  const succeeded = (own: Watch) =>
    Effect.suspend(() => {
      own.since = undefined
      if (!own.isFailing) return Effect.void
      own.isFailing = false
      return isInEpisode(own) ? Effect.void : annotate(own)(Effect.logInfo("job recovered"))
    })

  const abandoned = (own: Watch) => {
    own.since = undefined
    own.isFailing = false
  }

  const untilDone = <A>(own: Watch, work: Effect.Effect<A>): Effect.Effect<A> =>
    Clock.monotonicTimeNanos.pipe(
      Effect.flatMap((now) => {
        own.since ??= now
        return work
      }),
      Effect.tap(succeeded(own)),
      Effect.onInterrupt(() => Effect.sync(() => abandoned(own))),
      Effect.catchCause((cause) =>
        Effect.andThen(
          failed(own, cause),
          Effect.suspend(() => untilDone(own, work))
        )
      )
    )

  const statusOf = (job: JobName, now: bigint): JobStatus => {
    const own = [...watches].filter((watch) => watch.job === job)
    if (own.length === 0) return "off"
    return own.some((watch) => isLate(watch, now)) ? "unhealthy" : "healthy"
  }

  return { add, untilDone, failed, statusOf }
}
