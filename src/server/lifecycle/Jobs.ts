// The background jobs of this instance. They go on after every failure, and readiness shows whether they do their work.
import { Clock, Context, Effect, Layer, Metric } from "effect"
import type { Scope } from "effect"
import type { JobName, JobStatus } from "../../api/SystemApi.ts"
import { Gauges } from "../observability/Gauges.ts"
import * as JobWatches from "./JobWatches.ts"
import { SchemaWatch } from "./SchemaWatch.ts"

export const jobHealthy = Metric.gauge("job_healthy", {
  description: "1 while a job of this instance does its work, 0 while it does not, by job."
})

export type Statuses = Readonly<Record<JobName, JobStatus>>

export const worstStatus = (statuses: ReadonlyArray<JobStatus>): JobStatus =>
  (["unhealthy", "healthy"] as const).find((status) => statuses.includes(status)) ?? "off"

export interface Loop<A> extends JobWatches.Task {
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
    supervise(task: JobWatches.Task): Effect.Effect<<A>(work: Effect.Effect<A>) => Effect.Effect<A>, never, Scope.Scope>
    readonly statuses: Effect.Effect<Statuses>
  }
>()("effect-relayer/server/lifecycle/Jobs") {
  static readonly layer = Layer.effect(
    Jobs,
    Effect.gen(function* () {
      const gauges = yield* Gauges
      const schema = yield* SchemaWatch
      const watches = JobWatches.make()

      const run = Effect.fnUntraced(function* <A>({ work, wait, ...task }: Loop<A>) {
        const own = yield* watches.add(task)
        yield* watches.untilDone(own, Effect.andThen(schema.current, work)).pipe(
          Effect.flatMap(wait),
          Effect.catchCause((cause) => watches.failed(own, cause)),
          Effect.forever,
          Effect.forkScoped
        )
      })

      const supervise = (task: JobWatches.Task) =>
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
