// Health and readiness: open to everyone, never rate limited.
import { Schema, SchemaTransformation } from "effect"
import { HttpApiEndpoint, HttpApiGroup, HttpApiSchema, OpenApi } from "effect/http-api"

const Health = Schema.Literal("OK").pipe(HttpApiSchema.asText({ contentType: "text/plain" }))

const Component = Schema.Struct({ status: Schema.Literals(["healthy", "unhealthy"]) })

/**
 * `off`: this instance leaves the work to others (`WATCH=off`). `unhealthy`: a task of the job has not succeeded for half a
 * minute.
 */
const JobStatus = Schema.Literals(["healthy", "unhealthy", "off"]).annotate({ identifier: "JobStatus" })
export type JobStatus = typeof JobStatus.Type

const jobs = {
  /** Links the records of the audit log. */
  audit: JobStatus,
  /** Sends webhooks. */
  deliveries: JobStatus,
  /** Notifies the readers of events, and reads for them. */
  events: JobStatus,
  /** Measures the gauges that need the database. */
  gauges: JobStatus,
  /** Checks relayers on their chains. */
  health_checks: JobStatus,
  /** Deletes what is older than its retention. */
  retention: JobStatus
}
export type JobName = keyof typeof jobs

export const Readiness = Schema.Struct({
  /** Whether a load balancer should send requests here. Also true if the status is `degraded`. */
  ready: Schema.Boolean,
  /** `degraded`: the instance answers requests, but a background job does not do its work. */
  status: Schema.Literals(["healthy", "degraded", "unhealthy"]),
  components: Schema.Struct({
    database: Component,
    /** `unhealthy` from the moment at which the process begins to stop. */
    process: Component,
    /** `status` is the worst of the jobs. */
    jobs: Schema.Struct({ status: JobStatus, ...jobs })
  })
}).annotate({ identifier: "Readiness" })
export type Readiness = typeof Readiness.Type

/** The same body as `Readiness`, with status 503. */
export class NotReady extends Schema.TaggedError<NotReady>()("NotReady", { readiness: Readiness }) {}

const NotReadyError = Readiness.pipe(
  Schema.decodeTo(
    Schema.toType(NotReady),
    SchemaTransformation.transform({
      decode: (readiness) => new NotReady({ readiness }),
      encode: ({ readiness }) => readiness
    })
  ),
  HttpApiSchema.status(503)
)

export class SystemApi extends HttpApiGroup.make("system")
  .add(
    HttpApiEndpoint.get("health", "/v1/health", { success: Health }).annotateMerge(
      OpenApi.annotations({
        summary: "Health",
        description: "Always 200 with the text OK while the process runs; depends on nothing else."
      })
    ),
    HttpApiEndpoint.get("healthAlias", "/api/v1/health", { success: Health }).annotateMerge(
      OpenApi.annotations({ summary: "Health, at the path that other clients call" })
    ),
    HttpApiEndpoint.get("ready", "/api/v1/ready", { success: Readiness, error: NotReadyError }).annotateMerge(
      OpenApi.annotations({
        summary: "Readiness",
        description:
          "200 while the database answers, its schema is current and the process is not draining; 503 otherwise. If a background job does not do its work, the status is `degraded` and the response stays 200: the instance still answers requests, and other instances share the work."
      })
    )
  )
  .annotateMerge(OpenApi.annotations({ title: "System" })) {}
