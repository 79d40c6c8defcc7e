// The endpoints of metrics: names as JSON, values in the Prometheus text format.
import { Schema } from "effect"
import { HttpApiEndpoint, HttpApiGroup, HttpApiSchema, OpenApi } from "effect/http-api"
import { field } from "../domain/request/Field.ts"
import { NotFoundError } from "./Errors.ts"
import { MetricsAccess } from "./Middleware.ts"

/** Prometheus text exposition format 0.0.4. */
export const prometheusContentType = "text/plain; version=0.0.4; charset=utf-8"

const Exposition = Schema.String.annotate({
  identifier: "PrometheusExposition",
  description: "Metrics in the Prometheus text exposition format.",
  examples: ["# TYPE relayers gauge\nrelayers 3\n"]
}).pipe(HttpApiSchema.asText({ contentType: "text/plain" }))

const Names = Schema.Array(Schema.String).annotate({
  identifier: "MetricNames",
  description: "Names of the metrics.",
  examples: [["requests_total", "relayers"]]
})

export class MetricsApi extends HttpApiGroup.make("metrics")
  .add(
    HttpApiEndpoint.get("names", "/metrics", { success: [Names, Exposition] }).annotateMerge(
      OpenApi.annotations({
        summary: "Names of the metrics",
        description:
          "Answers a JSON array of names. If `Accept` prefers `text/plain` or OpenMetrics, it answers the values of all metrics."
      })
    ),
    HttpApiEndpoint.get("one", "/metrics/:metric_name", {
      params: Schema.Struct({ metric_name: field(Schema.String, "Name of the metric.", "requests_total") }),
      success: Exposition,
      error: NotFoundError
    }).annotateMerge(
      OpenApi.annotations({ summary: "Values of one metric", description: "In the Prometheus text format." })
    ),
    HttpApiEndpoint.get("scrape", "/debug/metrics/scrape", { success: Exposition }).annotateMerge(
      OpenApi.annotations({ summary: "Values of all metrics", description: "In the Prometheus text format." })
    )
  )
  .middleware(MetricsAccess)
  .annotateMerge(
    OpenApi.annotations({
      title: "Metrics",
      description:
        "What the service measures, for Prometheus. Needs no API key. An instance may require a bearer token of its own for them."
    })
  ) {}
