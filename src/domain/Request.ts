// What can be wrong with any request, and with the service that gets it.
import { Schema } from "effect"

/** A field of a request, as a caller would write it (`policies.min_balance`), and what is wrong with it. */
export interface Violation {
  readonly field: string
  readonly message: string
}

/** Longest `error` text, in UTF-16 code units. */
export const maxErrorLength = 1024

export class BadRequest extends Schema.TaggedError<BadRequest>()("BadRequest", {
  /** Names every offending field and what was expected; never a value of the request. */
  error: Schema.optionalKey(Schema.String)
}) {
  static of(violations: ReadonlyArray<Violation>): BadRequest {
    const error = violations.map(({ field, message }) => `${field}: ${message}`).join("; ")
    return new BadRequest({ error: error.length > maxErrorLength ? `${error.slice(0, maxErrorLength - 1)}…` : error })
  }
}

export class PayloadTooLarge extends Schema.TaggedError<PayloadTooLarge>()("PayloadTooLarge", {}) {}

export class UnsupportedMediaType extends Schema.TaggedError<UnsupportedMediaType>()("UnsupportedMediaType", {}) {}

/** No such route. */
export class NotFound extends Schema.TaggedError<NotFound>()("NotFound", {}) {}

/** The route exists for other methods. */
export class MethodNotAllowed extends Schema.TaggedError<MethodNotAllowed>()("MethodNotAllowed", {
  allow: Schema.Array(Schema.String)
}) {}

export class InternalServerError extends Schema.TaggedError<InternalServerError>()("InternalServerError", {}) {}

/** The database is away, the request took too long, or the process is about to stop. */
export class ServiceUnavailable extends Schema.TaggedError<ServiceUnavailable>()("ServiceUnavailable", {}) {}
