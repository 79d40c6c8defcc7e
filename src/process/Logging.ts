// Where log lines, spans and metrics go.
import { Layer, Logger, References } from "effect"
import type { LogLevel } from "effect"
import { FetchHttpClient } from "effect/http"
import { Otlp } from "effect/observability"
import type { Settings } from "./Settings.ts"

const levels: Record<Settings["LOG_LEVEL"], LogLevel.LogLevel> = {
  trace: "Trace",
  debug: "Debug",
  info: "Info",
  warn: "Warn",
  error: "Error",
  fatal: "Fatal",
  none: "None"
}

const otlp = (baseUrl: string) =>
  Otlp.layerJson({ baseUrl, resource: { serviceName: "effect-relayer" }, loggerMergeWithExisting: true }).pipe(
    Layer.provide(FetchHttpClient.layer)
  )

export const layer = (settings: Settings, isTerminal: boolean) => {
  const format = settings.LOG_FORMAT ?? (isTerminal ? "pretty" : "json")
  const endpoint = settings.OTEL_EXPORTER_OTLP_ENDPOINT
  const local = Layer.merge(
    Logger.layer([format === "json" ? Logger.consoleJson : Logger.consolePretty()]),
    Layer.succeed(References.MinimumLogLevel, levels[settings.LOG_LEVEL])
  )
  // Spans that nobody collects are not made; a request that asks for its own gets them.
  return endpoint === undefined
    ? Layer.merge(local, Layer.succeed(References.TracerEnabled, false))
    : Layer.provideMerge(otlp(endpoint), local)
}
