// Health and readiness: open to everyone, never rate limited.
import { Schema, SchemaTransformation } from "effect"
import { HttpApiEndpoint, HttpApiGroup, HttpApiSchema, OpenApi } from "effect/http-api"

const Health = Schema.Literal("OK").pipe(HttpApiSchema.asText({ contentType: "text/plain" }))

const Component = Schema.Struct({ status: Schema.Literals(["healthy", "unhealthy"]) })

/** `off`: this process leaves the work to others (`WATCH=off`). `unhealthy`: not done for half a minute. */
const WorkerStatus = Schema.Literals(["healthy", "unhealthy", "off"]).annotate({ identifier: "WorkerStatus" })
export type WorkerStatus = typeof WorkerStatus.Type

export const Readiness = Schema.Struct({
  /** Whether to send requests here: also where it is degraded. */
  ready: Schema.Boolean,
  /** Degraded: it answers requests, but does not do its work in the background. */
  status: Schema.Literals(["healthy", "degraded", "unhealthy"]),
  components: Schema.Struct({
    database: Component,
    /** Unhealthy from the moment on at which the process stops taking connections. */
    process: Component,
    /** As well as the worst of them. */
    workers: Schema.Struct({
      status: WorkerStatus,
      /** The checks of relayers on their chains. */
      health_checks: WorkerStatus,
      /** The sending of webhooks. */
      deliveries: WorkerStatus
    })
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
          "200 while the database answers, its schema is current and the process is not draining; 503 otherwise. A worker in the background that does not do its work makes the status `degraded`, and the answer stays 200: requests are answered all the same, and other instances share the work."
      })
    )
  )
  .annotateMerge(OpenApi.annotations({ title: "System" })) {}
