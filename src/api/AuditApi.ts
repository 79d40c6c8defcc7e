// The endpoints of the audit log: list, verify, export, checkpoints.
import { HttpApiEndpoint, HttpApiGroup, OpenApi } from "effect/http-api"
import * as Envelope from "./Envelope.ts"
import { Authorization, DecodeErrors, Idempotency, RequestBody } from "./Middleware.ts"
import {
  AuditCheckpoint,
  AuditExportRecord,
  AuditQuery,
  AuditRecord,
  AuditVerification,
  ExportAudit,
  PruneAudit,
  VerifyAudit
} from "../domain/audit/Audit.ts"
import { count } from "../domain/request/Page.ts"
import { linked, RequiredScope } from "./Endpoint.ts"
import * as Errors from "./Errors.ts"
import * as Json from "./Json.ts"

export class AuditApi extends HttpApiGroup.make("audit")
  .add(
    HttpApiEndpoint.get("list", "/", {
      query: AuditQuery,
      success: Envelope.listOf(AuditRecord),
      error: Errors.any
    })
      .annotate(RequiredScope, "audit:read")
      .annotateMerge(
        OpenApi.annotations({
          summary: "List the audit log",
          description:
            "Lists the changes that were committed before the request. The `Link` header leads to the next page.",
          transform: linked
        })
      ),
    HttpApiEndpoint.get("verify", "/verify", {
      query: VerifyAudit,
      success: Envelope.of(AuditVerification),
      error: [Errors.TooManyRequestsError, ...Errors.any]
    })
      .annotate(RequiredScope, "audit:read")
      .annotateMerge(
        OpenApi.annotations({
          summary: "Verify the audit log",
          description:
            "Checks the chain of hashes of a few thousand records. If the log has more, the response has `next`: send it as `from` to continue, until a response has none. Store the last `head` elsewhere and send it as `position` and `hash` the next time: this also detects records that were cut off, and a log that was rewritten. An instance verifies for one caller at a time; others get 429 with `Retry-After`."
        })
      ),
    HttpApiEndpoint.get("export", "/export", {
      query: ExportAudit,
      success: Envelope.listOf(AuditExportRecord),
      error: Errors.any
    })
      .annotate(RequiredScope, "audit:read")
      .annotateMerge(
        OpenApi.annotations({
          summary: "Export the audit log",
          description:
            "Records in the form that is hashed, oldest first, for a verification without the service. The `Link` header leads to the next page.",
          transform: linked
        })
      ),
    HttpApiEndpoint.get("checkpoints", "/checkpoints", {
      success: Envelope.listOf(AuditCheckpoint),
      error: Errors.any
    })
      .annotate(RequiredScope, "audit:read")
      .annotateMerge(
        OpenApi.annotations({
          summary: "List audit checkpoints",
          description: "All checkpoints, newest first."
        })
      ),
    HttpApiEndpoint.post("checkpoint", "/checkpoints", {
      success: Envelope.created(AuditCheckpoint),
      error: Errors.any
    })
      .middleware(Idempotency)
      .annotate(RequiredScope, "audit:write")
      .annotateMerge(
        OpenApi.annotations({
          summary: "Create an audit checkpoint",
          description: "Makes a checkpoint at the last record."
        })
      ),
    HttpApiEndpoint.post("prune", "/checkpoints/:position/prune", {
      params: { position: count("Position of the checkpoint.", 42) },
      payload: Json.body(PruneAudit),
      success: Envelope.of(AuditCheckpoint),
      error: [Errors.AuditCheckpointNotFoundError, ...Errors.any]
    })
      .middleware(Idempotency)
      .middleware(RequestBody)
      .annotate(RequiredScope, "audit:write")
      .annotateMerge(
        OpenApi.annotations({
          summary: "Prune the audit log",
          description:
            "Deletes the records up to the checkpoint: at once from every list, and in the background from the database. The rest of the log still verifies, from the checkpoint. Export the records first. Only the administrator may do this."
        })
      )
  )
  .middleware(DecodeErrors)
  .middleware(Authorization)
  .prefix("/api/v1/audit")
  .annotateMerge(
    OpenApi.annotations({ title: "Audit", description: "Record of every change: who changed what, and when." })
  ) {}
