// Metrics: their names as JSON, their values in the Prometheus text format.
import { Schema } from "effect"
import { HttpApiEndpoint, HttpApiGroup, HttpApiSchema, OpenApi } from "effect/http-api"
import { NotFoundError } from "./Errors.ts"

/** Prometheus text exposition format 0.0.4. */
export const prometheusContentType = "text/plain; version=0.0.4; charset=utf-8"

const Exposition = Schema.String.annotate({ identifier: "PrometheusExposition" }).pipe(
  HttpApiSchema.asText({ contentType: "text/plain" })
)

const Names = Schema.Array(Schema.String).annotate({ identifier: "MetricNames" })

export class MetricsApi extends HttpApiGroup.make("metrics")
  .add(
    HttpApiEndpoint.get("names", "/metrics", { success: [Names, Exposition] }).annotateMerge(
      OpenApi.annotations({
        summary: "Names of the metrics",
        description:
          "A JSON array of names. A scraper whose `Accept` prefers `text/plain` or OpenMetrics gets the values of all metrics instead."
      })
    ),
    HttpApiEndpoint.get("one", "/metrics/:metric_name", {
      params: Schema.Struct({ metric_name: Schema.String }),
      success: Exposition,
      error: NotFoundError
    }).annotateMerge(OpenApi.annotations({ summary: "Values of one metric" })),
    HttpApiEndpoint.get("scrape", "/debug/metrics/scrape", { success: Exposition }).annotateMerge(
      OpenApi.annotations({ summary: "Values of all metrics" })
    )
  )
  .annotateMerge(OpenApi.annotations({ title: "Metrics" })) {}
