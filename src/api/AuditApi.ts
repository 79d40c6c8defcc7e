// The endpoints of the audit log: list and verify.
import { HttpApiEndpoint, HttpApiGroup, OpenApi } from "effect/http-api"
import { AuditQuery, AuditRecord, AuditVerification, VerifyAudit } from "../domain/audit/Audit.ts"
import { linked } from "./document/Operation.ts"
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
            "Checks the chain of hashes of some thousand records. If the log goes on after them, the response has `next`: send it as `from` to continue, until a response has none. Store the last `head` elsewhere and send it as `position` and `hash` the next time: this also detects records that were cut off, and a log that was rewritten. An instance verifies for one caller at a time; others get 429 with `Retry-After`."
        })
      )
  )
  .middleware(DecodeErrors)
  .middleware(Authorization)
  .prefix("/api/v1/audit")
  .annotateMerge(
    OpenApi.annotations({ title: "Audit", description: "Record of every change: who changed what, and when." })
  ) {}
