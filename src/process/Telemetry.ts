// Where log records, spans and metrics of this process go: to standard output, or by OTLP over HTTP.
import { Cause, Effect, Formatter, Layer, Logger, Metric, Redacted, References } from "effect"
import type { LogLevel } from "effect"
import { FetchHttpClient, HttpClient } from "effect/http"
import { Otlp } from "effect/observability"
import { randomUUID } from "node:crypto"
import { monitorEventLoopDelay } from "node:perf_hooks"
import { Gauges, processMetrics } from "../server/observability/Gauges.ts"
import { running } from "./Running.ts"
import type { Settings } from "./settings/Settings.ts"
import { otlpHeaders } from "./settings/Variables.ts"

// Exports traces, metrics and log records by OTLP over HTTP.

/** Logs the first failure of an episode and its end. The exporters try again every minute, and say nothing. */
const reporting = (endpoint: string) =>
  Layer.effect(
    HttpClient.HttpClient,
    Effect.map(HttpClient.HttpClient, (client) => {
      let isFailing = false
      const report = (failed: boolean, reason: string) =>
        Effect.suspend(() => {
          if (failed === isFailing) return Effect.void
          isFailing = failed
          const line = failed
            ? Effect.annotateLogs(Effect.logWarning("cannot send telemetry to the OTLP collector"), { reason })
            : Effect.logInfo("telemetry arrives at the OTLP collector again")
          return Effect.annotateLogs(line, { collector: new URL(endpoint).host })
        })
      return client.pipe(
        HttpClient.tapError(() => report(true, "cannot be reached")),
        HttpClient.tap(({ status }) => report(status >= 400, `HTTP ${status}`))
      )
    })
  ).pipe(Layer.provide(FetchHttpClient.layer))

const headersOf = ({ OTEL_EXPORTER_OTLP_HEADERS: headers }: Settings) =>
  headers === undefined ? undefined : otlpHeaders(Redacted.value(headers))

/** The body of an OTLP record is the message as one string, and its attributes are the annotations. */
const layerOtlp = (settings: Settings, baseUrl: string) => {
  const make = settings.OTEL_EXPORTER_OTLP_PROTOCOL === "http/protobuf" ? Otlp.layerProtobuf : Otlp.layerJson
  return make({
    baseUrl,
    headers: headersOf(settings),
    resource: {
      serviceName: settings.OTEL_SERVICE_NAME,
      serviceVersion: running,
      attributes: { "service.instance.id": randomUUID() }
    },
    loggerMergeWithExisting: true
  }).pipe(Layer.provide(reporting(baseUrl)))
}

const levels: Record<Settings["LOG_LEVEL"], LogLevel.LogLevel> = {
  trace: "Trace",
  debug: "Debug",
  info: "Info",
  warn: "Warn",
  error: "Error",
  fatal: "Fatal",
  none: "None"
}

const asText = (part: unknown): string => (typeof part === "string" ? part : Formatter.formatJson(part))

/** Our own messages are one constant string. A message of a library may have several parts. */
const messageOf = (message: unknown): string =>
  Array.isArray(message) ? message.map(asText).join(" ") : asText(message)

/**
 * One flat JSON object per line: `timestamp`, `level`, `message`, the annotations, and `cause` if there is one. An annotation never
 * replaces one of these four.
 */
export const formatJson = Logger.make(({ cause, date, fiber, logLevel, message }) => {
  const fixed = { timestamp: date.toISOString(), level: logLevel.toUpperCase(), message: messageOf(message) }
  return Formatter.formatJson({
    ...fixed,
    ...fiber.getRef(References.CurrentLogAnnotations),
    ...fixed,
    cause: cause.reasons.length > 0 ? Cause.pretty(cause) : undefined
  })
})

export const layer = (settings: Settings, isTerminal: boolean) => {
  const format = settings.LOG_FORMAT ?? (isTerminal ? "pretty" : "json")
  const endpoint = settings.OTEL_EXPORTER_OTLP_ENDPOINT
  const local = Layer.merge(
    Logger.layer([format === "json" ? Logger.withConsoleLog(formatJson) : Logger.consolePretty()]),
    Layer.succeed(References.MinimumLogLevel, levels[settings.LOG_LEVEL])
  )
  // Spans are only made if they are exported. A request with X-Relayer-Debug makes its own.
  return endpoint === undefined
    ? Layer.merge(local, Layer.succeed(References.TracerEnabled, false))
    : Layer.provideMerge(layerOtlp(settings, endpoint), local)
}

// Measures memory, CPU and event loop of this process at each scrape.

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

export const layerProcessGauges = Layer.effectDiscard(
  Effect.flatMap(Effect.all([Gauges, eventLoopDelay]), ([gauges, delay]) => gauges.register(measure(delay)))
)
