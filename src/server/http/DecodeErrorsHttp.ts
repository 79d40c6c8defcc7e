// The implementation of `DecodeErrors`: what was wrong with a request, field by field.
import { Effect } from "effect"
import { HttpApiMiddleware } from "effect/http-api"
import { DecodeErrors } from "../../api/Middleware.ts"
import { BadRequest } from "../../domain/request/Request.ts"

const roots: Record<string, string> = { Params: "path", Query: "query", Headers: "headers", Payload: "body" }

/** An answer of ours that does not encode is a defect, not a bad request. */
export const DecodeErrorsHttp = HttpApiMiddleware.layerSchemaErrorTransform(DecodeErrors, (error) =>
  error.kind === "Body" || error.kind === "ResponseHeaders"
    ? Effect.die(error)
    : Effect.fail(BadRequest.fromIssue(error.cause.issue, roots[error.kind] ?? "request"))
)
