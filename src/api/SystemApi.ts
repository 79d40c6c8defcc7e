// The endpoints of health, readiness and metrics.
import { Schema, SchemaTransformation } from "effect"
import { HttpApiGroup, HttpApiSchema, OpenApi } from "effect/http-api"
import { field } from "../domain/request/Field.ts"
import * as Endpoint from "./Endpoint.ts"
import { NotFoundError } from "./Errors.ts"
import { MetricsAccess } from "./Middleware.ts"

/** The header of health by which clients recognize the service before they send it a key. */
export const identification = { name: "x-effect-relayer", value: "v1" } as const

const Health = Schema.Literal("OK")
  .annotate({ description: "The process runs." })
  .pipe(HttpApiSchema.asText({ contentType: "text/plain" }))

const Component = Schema.Struct({
  status: field(Schema.Literals(["healthy", "unhealthy"]), "State of the component.", "healthy")
})

export const JobStatus = Schema.Literals(["healthy", "unhealthy", "off"]).annotate({
  identifier: "JobStatus",
  description:
    "`unhealthy`: a task of the job has not succeeded for half a minute. `off`: this instance is configured to leave the job to others.",
  examples: ["healthy"]
})
export type JobStatus = typeof JobStatus.Type

const jobs = {
  audit: field(JobStatus, "Links the records of the audit log."),
  deliveries: field(JobStatus, "Sends webhooks."),
  events: field(JobStatus, "Notifies the readers of events, and reads for them."),
  gauges: field(JobStatus, "Measures the gauges that need the database."),
  health_checks: field(JobStatus, "Checks relayers on their chains."),
  lanes: field(JobStatus, "Sends transactions, and follows them until they are final."),
  retention: field(JobStatus, "Deletes what is older than its retention.")
}
export type JobName = keyof typeof jobs

const Condition = Schema.Struct({
  ...Component.fields,
  reason: Schema.optionalKey(
    field(
      Schema.String,
      "Why it is unhealthy. The log has the details.",
      "events wait for a transaction that has been open on the database server for more than 30 seconds"
    )
  )
})

const conditions = {
  audit: field(Condition, "`unhealthy`: the audit log does not contain a record that this instance has seen in it."),
  events: field(Condition, "`unhealthy`: an old transaction on the database server keeps events from their readers."),
  rows: field(
    Condition,
    "`unhealthy`: rows of relayers, signers or networks cannot be verified, so that they are not used. All others are served."
  )
}
export type ConditionName = keyof typeof conditions

export const Readiness = Schema.Struct({
  ready: field(
    Schema.Boolean,
    "Whether a load balancer should send requests to this instance. Also true while degraded.",
    true
  ),
  status: field(
    Schema.Literals(["healthy", "degraded", "unhealthy"]),
    "`degraded`: the instance answers requests, but a component other than `database` and `process` is unhealthy.",
    "healthy"
  ),
  version: field(
    Schema.String,
    "Version of the service that this instance runs, with its commit if that is not the release of the version: `0.1.0+652c174`.",
    "0.1.0"
  ),
  components: field(
    Schema.Struct({
      database: field(Component, "The database answers, and its schema is current."),
      process: field(Component, "`unhealthy` as soon as the process begins to stop."),
      jobs: field(
        Schema.Struct({ status: field(JobStatus, "The worst status of the jobs."), ...jobs }),
        "The background jobs."
      ),
      ...conditions
    }),
    "What the instance needs for its work."
  )
}).annotate({ identifier: "Readiness", description: "Whether an instance can answer requests and do its work." })
export type Readiness = typeof Readiness.Type

/** The same body as `Readiness`, with status 503. */
export class NotReady extends Schema.TaggedError<NotReady>()("NotReady", { readiness: Readiness }) {
  override readonly message = `the instance is ${this.readiness.status}; its readiness names the component`
}

const NotReadyError = Readiness.pipe(
  Schema.decodeTo(
    Schema.toType(NotReady),
    SchemaTransformation.transform({
      decode: (readiness) => new NotReady({ readiness }),
      encode: ({ readiness }) => readiness
    })
  ),
  HttpApiSchema.status(503)
).annotate({ description: "The instance is not ready." })

export class SystemApi extends HttpApiGroup.make("system")
  .add(
    Endpoint.get("health", "/v1/health", {
      summary: "Health",
      description:
        "Answers 200 with the text OK as long as the process runs. Depends on nothing else. The header `x-effect-relayer: v1` identifies the service.",
      success: Health
    }),
    Endpoint.get("healthAlias", "/api/v1/health", {
      summary: "Health (alias)",
      description: "The same as `/v1/health`, at the path that other clients call.",
      success: Health
    }),
    Endpoint.get("ready", "/api/v1/ready", {
      summary: "Readiness",
      description:
        "200 while the database answers, its schema is current and the process is not draining; 503 otherwise. If another component is unhealthy, such as a background job that does not do its work, the status is `degraded` and the response stays 200: the instance still answers requests, and other instances share the work.",
      success: Readiness,
      error: NotReadyError
    })
  )
  .annotateMerge(OpenApi.annotations({ title: "System", description: "Health and readiness of an instance." })) {}

// The endpoints of metrics: names as JSON, values in the Prometheus text format.

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
    Endpoint.get("names", "/metrics", {
      summary: "Names of the metrics",
      description:
        "Answers a JSON array of names. If `Accept` prefers `text/plain` or OpenMetrics, it answers the values of all metrics.",
      success: [Names, Exposition]
    }),
    Endpoint.get("one", "/metrics/:metric_name", {
      summary: "Values of one metric",
      description: "In the Prometheus text format.",
      params: Schema.Struct({ metric_name: field(Schema.String, "Name of the metric.", "requests_total") }),
      success: Exposition,
      error: NotFoundError
    }),
    Endpoint.get("scrape", "/debug/metrics/scrape", {
      summary: "Values of all metrics",
      description: "In the Prometheus text format.",
      success: Exposition
    })
  )
  .middleware(MetricsAccess)
  .annotateMerge(
    OpenApi.annotations({
      title: "Metrics",
      description:
        "What the service measures, for Prometheus. Needs no API key. An instance may require a bearer token of its own for them."
    })
  ) {}
