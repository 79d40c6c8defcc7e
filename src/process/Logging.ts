// Sets up where log records, spans and metrics go, and the format of log records.
import { Cause, Formatter, Layer, Logger, References } from "effect"
import type { LogLevel } from "effect"
import type { Settings } from "./settings/Settings.ts"
import * as Telemetry from "./Telemetry.ts"

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
    : Layer.provideMerge(Telemetry.layer(settings, endpoint), local)
}
