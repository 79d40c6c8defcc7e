// Health and readiness: open to everyone, never rate limited.
import { Schema, SchemaTransformation } from "effect"
import { HttpApiEndpoint, HttpApiGroup, HttpApiSchema, OpenApi } from "effect/http-api"

const Health = Schema.Literal("OK").pipe(HttpApiSchema.asText({ contentType: "text/plain" }))

const Component = Schema.Struct({ status: Schema.Literals(["healthy", "unhealthy"]) })

export const Readiness = Schema.Struct({
  ready: Schema.Boolean,
  status: Schema.Literals(["healthy", "unhealthy"]),
  components: Schema.Struct({
    database: Component,
    /** Unhealthy from the moment on at which the process stops taking connections. */
    process: Component
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
          "200 while the database answers, its schema is current and the process is not draining; 503 otherwise."
      })
    )
  )
  .annotateMerge(OpenApi.annotations({ title: "System" })) {}
