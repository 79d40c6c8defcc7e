// What can be wrong with any request, and with the service that gets it.
import { Schema, SchemaIssue } from "effect"

/** A field of a request, as a caller would write it (`policies.min_balance`), and what is wrong with it. */
export interface Violation {
  readonly field: string
  readonly message: string
}

/** Longest `error` text, in UTF-16 code units. */
export const maxErrorLength = 1024

/** Our words for what is missing, unknown or no object; everything else says what was expected. */
const leafHook: SchemaIssue.LeafHook = (issue) => {
  if (issue._tag === "MissingKey") return "is required"
  if (issue._tag === "InvalidType" && issue.ast._tag === "Objects") return "Expected an object"
  return issue._tag === "UnexpectedKey" ? "is not a known field" : SchemaIssue.defaultLeafHook(issue)
}

/** Issues carry no input unless `reportInput` is set, which it is not: nothing of the request comes back. */
const format = SchemaIssue.makeFormatterStandardSchemaV1({ leafHook })

const segment = (key: PropertyKey | { readonly key: PropertyKey }) => String(typeof key === "object" ? key.key : key)

/** Field names come from the caller: they are cut, and lose what would not print, halves of a character among them. */
const fieldName = (path: ReadonlyArray<PropertyKey | { readonly key: PropertyKey }> | undefined, root: string) => {
  const name = (path ?? []).map(segment).join(".")
  return name === "" ? root : name.slice(0, 128).replace(/\p{C}/gu, "?")
}

/** What a decoder refused, once per field; `root` is the field's name where all of it is refused. */
const violations = (issue: SchemaIssue.Issue, root: string): ReadonlyArray<Violation> => {
  const seen = new Map<string, Violation>()
  for (const { path, message } of format(issue).issues) {
    const violation = { field: fieldName(path, root), message }
    if (!seen.has(violation.field)) seen.set(violation.field, violation)
  }
  return [...seen.values()]
}

export class BadRequest extends Schema.TaggedError<BadRequest>()("BadRequest", {
  /** Names every offending field and what was expected; never a value of the request. */
  error: Schema.optionalKey(Schema.String)
}) {
  static of(violations: ReadonlyArray<Violation>): BadRequest {
    const error = violations.map(({ field, message }) => `${field}: ${message}`).join("; ")
    const isLong = error.length > maxErrorLength
    return new BadRequest({ error: isLong ? `${error.slice(0, maxErrorLength - 1).toWellFormed()}…` : error })
  }

  static fromIssue(issue: SchemaIssue.Issue, root: string): BadRequest {
    return BadRequest.of(violations(issue, root))
  }
}

export class PayloadTooLarge extends Schema.TaggedError<PayloadTooLarge>()("PayloadTooLarge", {}) {}

/** The media type, or the content coding, of the body is not one that the endpoint takes. */
export class UnsupportedMediaType extends Schema.TaggedError<UnsupportedMediaType>()("UnsupportedMediaType", {
  /** The media types that it takes. */
  accept: Schema.Array(Schema.String.check(Schema.isPattern(/^[a-z]+\/[a-z.+-]+$/u)))
}) {}

/** The request did not arrive in time. */
export class RequestTimeout extends Schema.TaggedError<RequestTimeout>()("RequestTimeout", {}) {}

/** The service cannot meet what `Expect` asks for. */
export class ExpectationFailed extends Schema.TaggedError<ExpectationFailed>()("ExpectationFailed", {}) {}

export class RequestHeaderFieldsTooLarge extends Schema.TaggedError<RequestHeaderFieldsTooLarge>()(
  "RequestHeaderFieldsTooLarge",
  {}
) {}

/** No such route. */
export class NotFound extends Schema.TaggedError<NotFound>()("NotFound", {}) {}

/** The route exists for other methods. */
export class MethodNotAllowed extends Schema.TaggedError<MethodNotAllowed>()("MethodNotAllowed", {
  allow: Schema.Array(Schema.String.check(Schema.isPattern(/^[A-Z]+$/u)))
}) {}

export class InternalServerError extends Schema.TaggedError<InternalServerError>()("InternalServerError", {}) {}

/** The database is away, the request took too long, or the process is about to stop. */
export class ServiceUnavailable extends Schema.TaggedError<ServiceUnavailable>()("ServiceUnavailable", {}) {}
