// What the running process shows of itself: its version, and gauges that are measured at each scrape.
import { Context, Effect, Layer, Metric } from "effect"
import type { Scope } from "effect"
import { version } from "../../api/Version.ts"

/** The metrics of the operating system process. The process measures them; a host program may leave them out. */
export const processMetrics = {
  residentMemoryBytes: Metric.gauge("process_resident_memory_bytes", {
    description: "Resident memory of the process, in bytes."
  }),
  cpuSecondsTotal: Metric.counter("process_cpu_seconds_total", {
    description: "CPU time of the process, user and system, in seconds.",
    incremental: true
  }),
  eventLoopDelaySeconds: Metric.gauge("nodejs_eventloop_delay_seconds", {
    description: "Delay of the event loop since the last scrape, in seconds, by quantile."
  })
}

export class Gauges extends Context.Service<
  Gauges,
  {
    /** Adds `measure` to each scrape until the scope closes. */
    register(measure: Effect.Effect<void>): Effect.Effect<void, never, Scope.Scope>
    readonly measure: Effect.Effect<void>
  }
>()("effect-relayer/server/observability/Gauges") {
  static readonly layer = Layer.sync(Gauges, () => {
    const measures = new Set<Effect.Effect<void>>()
    return Gauges.of({
      register: (measure) =>
        Effect.asVoid(
          Effect.acquireRelease(
            Effect.sync(() => measures.add(measure)),
            () => Effect.sync(() => measures.delete(measure))
          )
        ),
      measure: Effect.suspend(() => Effect.all(measures, { discard: true }))
    })
  })
}

// The version that responses and metrics show. The process adds the commit of a build that is no release.

export const RunningVersion = Context.Reference<string>("effect-relayer/server/observability/Gauges/RunningVersion", {
  defaultValue: () => version
})
