// The handlers of `MetricsApi`.
import { Effect, Metric } from "effect"
import { HttpServerRequest, HttpServerResponse } from "effect/http"
import { HttpApiBuilder } from "effect/http-api"
import { PrometheusMetrics } from "effect/observability"
import { Api } from "../../api/Api.ts"
import { prometheusContentType } from "../../api/SystemApi.ts"
import { NotFound } from "../../domain/request/Request.ts"
import { setHeader } from "../responses/CurrentRequest.ts"
import { preferredType } from "../responses/Respond.ts"
import * as GroupServices from "../responses/GroupServices.ts"
import { Gauges, RunningVersion } from "./Gauges.ts"

export const buildInfo = Metric.gauge("build_info", {
  description: "Always 1. The label has the version of the service."
})

/** Scrapers that ask for OpenMetrics read the Prometheus format as well. */
const wantsText = ({ headers }: HttpServerRequest.HttpServerRequest): boolean =>
  preferredType(headers.accept, ["application/json", "text/plain;version=0.0.4", "application/openmetrics-text"]) !==
  "application/json"

const textResponse = (body: string) => HttpServerResponse.text(body, { contentType: prometheusContentType })

/** The lines of one metric: from its `# HELP` to the next metric's. */
const family = (exposition: string, name: string): string => {
  const lines = exposition.split("\n")
  const start = lines.findIndex((line) => line.startsWith(`# HELP ${name} `))
  if (start === -1) return ""
  const next = lines.findIndex((line, index) => index > start && line.startsWith("# HELP "))
  return `${lines
    .slice(start, next === -1 ? undefined : next)
    .join("\n")
    .trimEnd()}\n`
}

/** `metrics`: the names of all metrics. */
export const layer = (metrics: ReadonlyArray<string>) =>
  HttpApiBuilder.group(
    Api,
    "metrics",
    Effect.fnUntraced(function* (handlers) {
      const gauges = yield* Gauges
      yield* Metric.update(Metric.withAttributes(buildInfo, { version: yield* RunningVersion }), 1)
      const exposition = Effect.andThen(gauges.measure, PrometheusMetrics.format())

      return handlers.handleAll({
        names: Effect.fnUntraced(function* () {
          yield* setHeader("vary", "Accept")
          return wantsText(yield* HttpServerRequest.HttpServerRequest) ? textResponse(yield* exposition) : metrics
        }),
        one: Effect.fnUntraced(function* ({ params }) {
          if (!metrics.includes(params.metric_name)) return yield* new NotFound({})
          return textResponse(family(yield* exposition, params.metric_name))
        }),
        scrape: () => Effect.map(exposition, textResponse)
      })
    })
  ).pipe(GroupServices.limitTo(Gauges))
