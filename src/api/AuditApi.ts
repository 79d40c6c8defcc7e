// The endpoints of the audit log: list, verify, export, checkpoints.
import * as Envelope from "./Envelope.ts"
import { Idempotency, RequestBody } from "./Middleware.ts"
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
import * as Endpoint from "./Endpoint.ts"
import * as Errors from "./Errors.ts"
import * as Json from "./Json.ts"

export class AuditApi extends Endpoint.group(
  "audit",
  "/api/v1/audit",
  { title: "Audit", description: "Record of every change: who changed what, and when." },
  Endpoint.get("list", "/", {
    scope: "audit:read",
    summary: "List the audit log",
    description: "Lists the changes that were committed before the request. The `Link` header leads to the next page.",
    query: AuditQuery,
    success: Envelope.listOf(AuditRecord),
    transform: Endpoint.linked
  }),
  Endpoint.get("verify", "/verify", {
    scope: "audit:read",
    summary: "Verify the audit log",
    description:
      "Checks the chain of hashes of a few thousand records. If the log has more, the response has `next`: send it as `from` to continue, until a response has none. Store the last `head` elsewhere and send it as `position` and `hash` the next time: this also detects records that were cut off, and a log that was rewritten. An instance verifies for one caller at a time; others get 429 with `Retry-After`.",
    query: VerifyAudit,
    success: Envelope.of(AuditVerification)
  }),
  Endpoint.get("export", "/export", {
    scope: "audit:read",
    summary: "Export the audit log",
    description:
      "Records in the form that is hashed, oldest first, for a verification without the service. The `Link` header leads to the next page.",
    query: ExportAudit,
    success: Envelope.listOf(AuditExportRecord),
    transform: Endpoint.linked
  }),
  Endpoint.get("checkpoints", "/checkpoints", {
    scope: "audit:read",
    summary: "List audit checkpoints",
    description: "All checkpoints, newest first.",
    success: Envelope.listOf(AuditCheckpoint)
  }),
  Endpoint.post("checkpoint", "/checkpoints", {
    scope: "audit:write",
    summary: "Create an audit checkpoint",
    description: "Makes a checkpoint at the last record.",
    through: [Idempotency],
    success: Envelope.created(AuditCheckpoint)
  }),
  Endpoint.post("prune", "/checkpoints/:position/prune", {
    scope: "audit:write",
    summary: "Prune the audit log",
    description:
      "Deletes the records up to the checkpoint: at once from every list, and in the background from the database. The rest of the log still verifies, from the checkpoint. Export the records first. Only the administrator may do this.",
    through: [Idempotency, RequestBody],
    params: { position: count("Position of the checkpoint.", 42) },
    payload: Json.body(PruneAudit),
    success: Envelope.of(AuditCheckpoint),
    error: Errors.AuditCheckpointNotFoundError
  })
) {}
