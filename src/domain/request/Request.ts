// Errors that every request can have: invalid input, unknown paths, and faults of the service.
import { Schema, SchemaIssue } from "effect"

/** What is wrong with a field of a request. The field is a path such as `policies.min_balance`. */
export interface Violation {
  readonly field: string
  readonly message: string
}

/** Longest `error` text, in UTF-16 code units. */
export const maxErrorLength = 1024

/** Short messages for missing and unknown fields. All other messages say what was expected. */
const leafHook: SchemaIssue.LeafHook = (issue) => {
  if (issue._tag === "MissingKey") return "is required"
  if (issue._tag === "InvalidType" && issue.ast._tag === "Objects") return "Expected an object"
  return issue._tag === "UnexpectedKey" ? "is not a known field" : SchemaIssue.defaultLeafHook(issue)
}

/** `reportInput` is not set, so issues carry no input and no message can contain a value of the request. */
const format = SchemaIssue.makeFormatterStandardSchemaV1({ leafHook })

const segment = (key: PropertyKey | { readonly key: PropertyKey }) => String(typeof key === "object" ? key.key : key)

/** Names of unknown fields come from the caller: they are cut, and unprintable characters become `?`. */
const fieldName = (path: ReadonlyArray<PropertyKey | { readonly key: PropertyKey }> | undefined, root: string) => {
  const name = (path ?? []).map(segment).join(".")
  return name === "" ? root : name.slice(0, 128).replace(/\p{C}/gu, "?")
}

/** The first issue of each field. `root` is the name of the value as a whole. */
const violations = (issue: SchemaIssue.Issue, root: string): ReadonlyArray<Violation> => {
  const seen = new Map<string, Violation>()
  for (const { path, message } of format(issue).issues) {
    const violation = { field: fieldName(path, root), message }
    if (!seen.has(violation.field)) seen.set(violation.field, violation)
  }
  return [...seen.values()]
}

export class BadRequest extends Schema.TaggedError<BadRequest>()("BadRequest", {
  /** Names every invalid field and what was expected. It never contains a value of the request. */
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

/** The path does not exist. */
export class NotFound extends Schema.TaggedError<NotFound>()("NotFound", {}) {}

/** The path exists for other methods. */
export class MethodNotAllowed extends Schema.TaggedError<MethodNotAllowed>()("MethodNotAllowed", {
  allow: Schema.Array(Schema.String.check(Schema.isPattern(/^[A-Z]+$/u)))
}) {}

export class InternalServerError extends Schema.TaggedError<InternalServerError>()("InternalServerError", {
  /** Names the resource whose row was changed outside of the service. Absent: another fault, which only the log explains. */
  error: Schema.optionalKey(Schema.String)
}) {}

/** The database cannot be reached, the request took too long, or the instance is stopping. */
export class ServiceUnavailable extends Schema.TaggedError<ServiceUnavailable>()("ServiceUnavailable", {}) {}
