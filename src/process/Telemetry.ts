// Exports traces, metrics and log records by OTLP over HTTP.
import { Effect, Layer, Redacted } from "effect"
import { FetchHttpClient, HttpClient } from "effect/http"
import { Otlp } from "effect/observability"
import { randomUUID } from "node:crypto"
import { running } from "./Running.ts"
import * as Parsers from "./settings/Parsers.ts"
import type { Settings } from "./settings/Settings.ts"

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
  headers === undefined ? undefined : Parsers.otlpHeaders(Redacted.value(headers))

/** The body of an OTLP record is the message as one string, and its attributes are the annotations. */
export const layer = (settings: Settings, baseUrl: string) => {
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
