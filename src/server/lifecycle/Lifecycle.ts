// What all features of an instance share: whether it drains, its jobs and their signals, its conditions, and the schema.
import { Clock, Context, Duration, Effect, Fiber, Latch, Layer, Metric } from "effect"
import type { Scope } from "effect"
import { SqlClient } from "effect/sql"
import type { ConditionName, JobName, JobStatus } from "../../api/SystemApi.ts"
import { oldestSchema } from "../../sql/Migrate.ts"
import { query } from "../../sql/Transaction.ts"
import { latestMigration } from "../../sql/migrations/index.ts"
import { Gauges } from "../observability/Gauges.ts"

// Watches the tasks of jobs: reports failures once per episode, and knows which jobs do their work.

/** A job is unhealthy if one of its tasks has not succeeded for this long after the task began. */
const patience = Duration.seconds(30)

/** After a failure. */
const pause = Duration.seconds(1)

export interface JobTask {
  readonly job: JobName
  /** Names the task within its job, in the log. */
  readonly task: string
}

interface Watch extends JobTask {
  /** Monotonic nanoseconds: when the work began that has not succeeded yet. */
  since: bigint | undefined
  isFailing: boolean
}

export interface JobWatches {
  /** Watches a task until the scope closes. */
  add(task: JobTask): Effect.Effect<Watch, never, Scope.Scope>
  /** Runs work of a watched task until it succeeds, with a pause after each failure. */
  untilDone<A>(own: Watch, work: Effect.Effect<A>): Effect.Effect<A>
  /** Reports a failure and pauses. */
  failed(own: Watch, cause: unknown): Effect.Effect<void>
  /** A job is as healthy as the worst of its tasks; `off` if it has none. */
  statusOf(job: JobName, now: bigint): JobStatus
}

const isLate = ({ since }: Watch, now: bigint) => since !== undefined && now - since > Duration.toNanosUnsafe(patience)

const annotate = ({ job, task }: JobTask) => Effect.annotateLogs({ job, task })

export const makeJobWatches = (): JobWatches => {
  const watches = new Set<Watch>()

  const add = (task: JobTask) =>
    Effect.acquireRelease(
      Effect.sync(() => {
        const added: Watch = { ...task, since: undefined, isFailing: false }
        watches.add(added)
        return added
      }),
      (added) => Effect.sync(() => watches.delete(added))
    )

  /** An episode begins with the first failure of a task and ends when all of its fibers succeed again. */
  const isInEpisode = ({ job, task }: JobTask) =>
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

// Whether this version still works on the schema of the database. A newer version beside it may have changed the schema
// incompatibly: then this instance answers 503 and does no work of jobs, so that it writes nothing that the newer one cannot read.

/** As often as a lane is renewed: what this process knows about the schema is not older. */
const interval = Duration.seconds(10)

interface Service {
  /** Whether the schema needs a newer version. A database that does not answer changes nothing. */
  readonly isOutdated: Effect.Effect<boolean>
  /** Waits until this version works on the schema. */
  readonly current: Effect.Effect<void>
}

export const makeSchemaWatch = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  let isOutdated = false
  /** Monotonic nanoseconds. Absent: not read yet. */
  let readAt: bigint | undefined
  /** Absent: it has ended. */
  let reading: Fiber.Fiber<void> | undefined

  const changed = (oldest: number) =>
    Effect.annotateLogs(
      oldest > latestMigration
        ? Effect.logError("a newer version has changed the database: this instance stops writing; stop it")
        : Effect.logInfo("this version works on the schema of the database again"),
      { schema: oldest, known: latestMigration }
    )

  const read = oldestSchema.pipe(
    query("Lifecycle.read"),
    Effect.provideService(SqlClient.SqlClient, sql),
    Effect.flatMap((oldest) => {
      const before = isOutdated
      isOutdated = oldest > latestMigration
      return before === isOutdated ? Effect.void : changed(oldest)
    }),
    Effect.ignoreCause,
    Effect.ensuring(Effect.sync(() => void (reading = undefined)))
  )

  /** Concurrent callers wait for the same reading, which goes on if one of them is interrupted. */
  const readIfOld = Effect.flatMap(Clock.monotonicTimeNanos, (now) => {
    if (readAt !== undefined && now - readAt < Duration.toNanosUnsafe(interval)) {
      return reading === undefined ? Effect.void : Fiber.await(reading)
    }
    readAt = now
    return Effect.flatMap(Effect.forkDetach(read), (fiber) => {
      reading = fiber
      return Fiber.await(fiber)
    })
  })

  const service: Service = {
    isOutdated: Effect.map(readIfOld, () => isOutdated),
    current: Effect.suspend((): Effect.Effect<void> =>
      Effect.flatMap(service.isOutdated, (is) =>
        is ? Effect.andThen(Effect.sleep(interval), service.current) : Effect.void
      )
    )
  }
  // An older instance may have started while the newer version changed the schema.
  yield* readIfOld
  return service
})

/** Absent: the schema does not change. */
export const SchemaWatch = Context.Reference<Service>("effect-relayer/server/lifecycle/Lifecycle/SchemaWatch", {
  defaultValue: () => ({ isOutdated: Effect.succeed(false), current: Effect.void })
})

// The background jobs of this instance. They go on after every failure, and readiness shows whether they do their work.

export const jobHealthy = Metric.gauge("job_healthy", {
  description: "1 while a job of this instance does its work, 0 while it does not, by job."
})

export type Statuses = Readonly<Record<JobName, JobStatus>>

export const worstStatus = (statuses: ReadonlyArray<JobStatus>): JobStatus =>
  (["unhealthy", "healthy"] as const).find((status) => statuses.includes(status)) ?? "off"

export interface Loop<A> extends JobTask {
  /** One round. The loop begins with it. */
  readonly work: Effect.Effect<A>
  /** Waits for the next round. Waiting does not count as work, however long it takes. */
  readonly wait: (result: A) => Effect.Effect<unknown>
}

export class Jobs extends Context.Service<
  Jobs,
  {
    /** Runs a loop until the scope closes. */
    run<A>(loop: Loop<A>): Effect.Effect<void, never, Scope.Scope>
    /** Returns a function for fibers of requests: it runs work of a task until the work succeeds. */
    supervise(task: JobTask): Effect.Effect<<A>(work: Effect.Effect<A>) => Effect.Effect<A>, never, Scope.Scope>
    readonly statuses: Effect.Effect<Statuses>
  }
>()("effect-relayer/server/lifecycle/Lifecycle/Jobs") {
  static readonly layer = Layer.effect(
    Jobs,
    Effect.gen(function* () {
      const gauges = yield* Gauges
      const schema = yield* SchemaWatch
      const watches = makeJobWatches()

      const run = Effect.fnUntraced(function* <A>({ work, wait, ...task }: Loop<A>) {
        const own = yield* watches.add(task)
        yield* watches.untilDone(own, Effect.andThen(schema.current, work)).pipe(
          Effect.flatMap(wait),
          Effect.catchCause((cause) => watches.failed(own, cause)),
          Effect.forever,
          Effect.forkScoped
        )
      })

      const supervise = (task: JobTask) =>
        Effect.map(
          watches.add(task),
          (own) =>
            <A>(work: Effect.Effect<A>) =>
              watches.untilDone(own, work)
        )

      const statuses = Effect.map(Clock.monotonicTimeNanos, (now): Statuses => ({
        audit: watches.statusOf("audit", now),
        deliveries: watches.statusOf("deliveries", now),
        events: watches.statusOf("events", now),
        gauges: watches.statusOf("gauges", now),
        health_checks: watches.statusOf("health_checks", now),
        lanes: watches.statusOf("lanes", now),
        retention: watches.statusOf("retention", now)
      }))

      const measure = Effect.gen(function* () {
        for (const [job, status] of Object.entries(yield* statuses)) {
          if (status === "off") continue
          yield* Metric.update(Metric.withAttributes(jobHealthy, { job }), status === "healthy" ? 1 : 0)
        }
      })
      yield* gauges.register(measure)

      return Jobs.of({ run, supervise, statuses })
    })
  )
}

/**
 * Waits until the next multiple of `interval`, in milliseconds. Jobs that wait for such moments run together, so that a process which does little
 * wakes up less often.
 */
export const nextMoment = (interval: number): Effect.Effect<void> =>
  Effect.flatMap(Clock.currentTimeMillis, (now) => Effect.sleep(interval - (now % interval)))

// Wakes a job of this instance when a committed transaction has left work for it. Other instances find the work when they
// poll the database.

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
  "effect-relayer/server/lifecycle/Lifecycle/CommitSignals"
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
export const commitSignalOf = (job: JobName): Effect.Effect<CommitSignal, never, CommitSignals> =>
  Effect.map(CommitSignals, (signals) => signals.get(job))

// Problems that an operator has to solve although all jobs are healthy. Features report them, and readiness shows them.

export const componentHealthy = Metric.gauge("component_healthy", {
  description:
    "0 while a component of readiness, `audit`, `events` or `rows`, has a problem that an operator has to solve, else 1."
})

export interface Problem {
  /** A constant lower-case sentence for the log and for readiness, which needs no API key. */
  readonly reason: string
  /** Values for the log only. */
  readonly details: Readonly<Record<string, unknown>>
  /** The rows that the problem is about. Absent: it is about none. */
  readonly rows?: ReadonlyArray<RowName>
}

/** A row of the database. */
export interface RowName {
  readonly table: string
  readonly id: string
}

export type Problems = Readonly<Record<ConditionName, Problem | undefined>>

const names = ["audit", "events", "rows"] as const satisfies ReadonlyArray<ConditionName>

const show = (component: ConditionName, isHealthy: boolean) =>
  Metric.update(Metric.withAttributes(componentHealthy, { component }), Number(isHealthy))

export class Conditions extends Context.Service<
  Conditions,
  {
    /** `undefined`: everything is as it should be. A change is logged. */
    report(name: ConditionName, problem: Problem | undefined): Effect.Effect<void>
    readonly problems: Effect.Effect<Problems>
  }
>()("effect-relayer/server/lifecycle/Lifecycle/Conditions") {
  static readonly layer = Layer.effect(
    Conditions,
    Effect.gen(function* () {
      for (const name of names) yield* show(name, true)
      const known = new Map<ConditionName, Problem>()

      const report = (condition: ConditionName, problem: Problem | undefined) =>
        Effect.suspend(() => {
          const before = known.get(condition)
          if (problem === undefined) known.delete(condition)
          else known.set(condition, problem)
          if (before?.reason === problem?.reason) return Effect.void
          const log =
            problem === undefined
              ? Effect.annotateLogs(Effect.logInfo("condition resolved"), { condition })
              : Effect.annotateLogs(Effect.logWarning(problem.reason), { condition, ...problem.details })
          return Effect.andThen(show(condition, problem === undefined), log)
        })

      const problems = Effect.sync((): Problems => ({
        audit: known.get("audit"),
        events: known.get("events"),
        rows: known.get("rows")
      }))

      return Conditions.of({ report, problems })
    })
  )
}

// Whether the instance is about to stop: it still responds to requests, but accepts no new connections.

export class Draining extends Context.Service<
  Draining,
  {
    readonly isDraining: () => boolean
    /** Waits until draining begins. Streams without an end of their own end then. */
    readonly begun: Effect.Effect<void>
    /** Begins draining. It cannot be undone. `Server.drainFirst` does it before a server closes. */
    readonly begin: Effect.Effect<void>
  }
>()("effect-relayer/server/lifecycle/Lifecycle/Draining") {
  static readonly layer = Layer.sync(Draining, () => {
    const draining = Latch.makeUnsafe(false)
    return Draining.of({
      isDraining: () => draining.isOpen(),
      begun: draining.await,
      begin: Effect.asVoid(draining.open)
    })
  })
}

export const layer = Layer.mergeAll(Draining.layer, CommitSignals.layer, Conditions.layer, Jobs.layer).pipe(
  Layer.provideMerge(Layer.merge(Gauges.layer, Layer.effect(SchemaWatch, makeSchemaWatch)))
)
