// Measures memory, CPU and event loop of this process at each scrape.
import { Effect, Layer, Metric } from "effect"
import { monitorEventLoopDelay } from "node:perf_hooks"
import { Gauges, processMetrics } from "../server/observability/Gauges.ts"

const { cpuSecondsTotal, eventLoopDelaySeconds, residentMemoryBytes } = processMetrics

const quantiles = [0.5, 0.99, 1]

const measure = (delay: ReturnType<typeof monitorEventLoopDelay>) => {
  let countedCpu = 0
  return Effect.gen(function* () {
    const { user, system } = process.cpuUsage()
    const cpu = (user + system) / 1e6
    yield* Metric.update(cpuSecondsTotal, cpu - countedCpu)
    countedCpu = cpu
    yield* Metric.update(residentMemoryBytes, process.memoryUsage.rss())
    for (const quantile of quantiles) {
      const seconds = delay.count === 0 ? 0 : delay.percentile(quantile * 100) / 1e9
      yield* Metric.update(Metric.withAttributes(eventLoopDelaySeconds, { quantile: String(quantile) }), seconds)
    }
    delay.reset()
  })
}

const eventLoopDelay = Effect.acquireRelease(
  Effect.sync(() => {
    const histogram = monitorEventLoopDelay({ resolution: 20 })
    histogram.enable()
    return histogram
  }),
  (histogram) => Effect.sync(() => histogram.disable())
)

export const layer = Layer.effectDiscard(
  Effect.flatMap(Effect.all([Gauges, eventLoopDelay]), ([gauges, delay]) => gauges.register(measure(delay)))
)
