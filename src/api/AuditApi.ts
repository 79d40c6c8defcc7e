// The audit log, and the check that nobody has tampered with it.
import { HttpApiEndpoint, HttpApiGroup, OpenApi } from "effect/http-api"
import { AuditAnchor, AuditQuery, AuditRecord, AuditVerification } from "../domain/audit/Audit.ts"
import * as Envelope from "./Envelope.ts"
import * as Errors from "./Errors.ts"
import { Authorization, DecodeErrors } from "./Middleware.ts"
import { RequiredScope } from "./Scopes.ts"

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
          description: "Every change that was committed before the request. The `Link` header leads to the next page."
        })
      ),
    HttpApiEndpoint.get("verify", "/verify", {
      query: AuditAnchor,
      success: Envelope.of(AuditVerification),
      error: Errors.any
    })
      .annotate(RequiredScope, "audit:read")
      .annotateMerge(
        OpenApi.annotations({
          summary: "Verify the audit log",
          description:
            "Reads all of it and follows its chain of hashes. Keep `head` elsewhere and send it the next time: then records that were cut off, or all of them written anew, show as well."
        })
      )
  )
  .middleware(DecodeErrors)
  .middleware(Authorization)
  .prefix("/api/v1/audit")
  .annotateMerge(OpenApi.annotations({ title: "Audit", description: "Who changed what, and when." })) {}
