// The endpoint that lists the running instances of the service.
import { Schema } from "effect"
import { HttpApiEndpoint, HttpApiGroup, OpenApi } from "effect/http-api"
import { field, shown } from "../domain/request/Field.ts"
import { Instant } from "../domain/request/Instant.ts"
import * as Envelope from "./Envelope.ts"
import * as Errors from "./Errors.ts"
import { Authorization, DecodeErrors } from "./Middleware.ts"
import { RequiredScope } from "./Scopes.ts"
import { JobStatus } from "./SystemApi.ts"

const at = "2026-01-02T03:04:05.678Z"

export const Instance = Schema.Struct({
  id: field(Schema.String, "Identifies the process, until it ends.", "4f1c2c9e-8f0b-4c56-9d5e-0a7b1f1f2a3b"),
  version: field(Schema.String, "Version of the service that it runs.", "0.1.0"),
  started_at: field(Instant, "When it started, by the clock of the database.", at),
  last_seen_at: field(
    Instant,
    "When it last wrote that it runs, which it does every ten seconds. One that was killed is listed for an hour.",
    at
  ),
  jobs: field(Schema.Record(Schema.String, JobStatus), "Its background jobs, by name.", { lanes: "healthy" }),
  lanes_held: shown(
    Schema.Natural,
    "Accounts whose transactions it sends now. Absent for a key that is limited to relayers.",
    12
  ),
  is_this: field(Schema.Boolean, "Whether it is the one that answers.", true)
}).annotate({ identifier: "Instance", description: "A running process of the service." })
export type Instance = typeof Instance.Type

export class InstancesApi extends HttpApiGroup.make("instances")
  .add(
    HttpApiEndpoint.get("list", "/", { success: Envelope.listOf(Instance), error: Errors.any })
      .annotate(RequiredScope, "relayers:read")
      .annotateMerge(
        OpenApi.annotations({
          summary: "List instances",
          description:
            "The processes that share the database, the one that started first at the beginning. One that stops is removed, and one that was killed after an hour."
        })
      )
  )
  .middleware(DecodeErrors)
  .middleware(Authorization)
  .prefix("/api/v1/instances")
  .annotateMerge(OpenApi.annotations({ title: "Instances", description: "Processes that share the database." })) {}
