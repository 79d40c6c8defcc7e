// The implementation of `DecodeErrors`: what was wrong with a request, field by field.
import { Effect, SchemaIssue } from "effect"
import type { HttpApiError } from "effect/http-api"
import { HttpApiMiddleware } from "effect/http-api"
import { DecodeErrors } from "../../api/Middleware.ts"
import { BadRequest } from "../../domain/Request.ts"
import type { Violation } from "../../domain/Request.ts"

/** Our words for what is missing or unknown; everything else says what was expected. */
const leafHook: SchemaIssue.LeafHook = (issue) => {
  if (issue._tag === "MissingKey") return "is required"
  return issue._tag === "UnexpectedKey" ? "is not a known field" : SchemaIssue.defaultLeafHook(issue)
}

/** Issues carry no input unless `reportInput` is set, which it is not: nothing of the request comes back. */
const format = SchemaIssue.makeFormatterStandardSchemaV1({ leafHook })

const segment = (key: PropertyKey | { readonly key: PropertyKey }) => String(typeof key === "object" ? key.key : key)

/** Field names come from the caller: they are cut, and lose what would not print. */
const fieldName = (path: ReadonlyArray<PropertyKey | { readonly key: PropertyKey }> | undefined, root: string) => {
  const name = (path ?? []).map(segment).join(".")
  // oxlint-disable-next-line no-control-regex -- control characters are what is removed.
  return name === "" ? root : name.replace(/[\u0000-\u001f\u007f\ud800-\udfff]/g, "?").slice(0, 128)
}

const roots: Record<string, string> = { Params: "path", Query: "query", Headers: "headers", Payload: "body" }

const violations = (error: HttpApiError.HttpApiSchemaError): ReadonlyArray<Violation> => {
  const root = roots[error.kind] ?? "request"
  const seen = new Map<string, Violation>()
  for (const issue of format(error.cause.issue).issues) {
    const violation = { field: fieldName(issue.path, root), message: issue.message }
    if (!seen.has(violation.field)) seen.set(violation.field, violation)
  }
  return [...seen.values()]
}

/** An answer of ours that does not encode is a defect, not a bad request. */
export const DecodeErrorsHttp = HttpApiMiddleware.layerSchemaErrorTransform(DecodeErrors, (error) =>
  error.kind === "Body" || error.kind === "ResponseHeaders"
    ? Effect.die(error)
    : Effect.fail(BadRequest.of(violations(error)))
)
