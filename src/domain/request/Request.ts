// Errors that every request can have: invalid input, unknown paths, and faults of the service.
import { Schema } from "effect"
import type { SchemaIssue } from "effect"
import * as Shown from "./Shown.ts"
import * as Violations from "./Violations.ts"
import type { Violation } from "./Violations.ts"

export type { Violation } from "./Violations.ts"

/** Longest `error` text, in UTF-16 code units. */
export const maxErrorLength = 1024

/** As many whole violations as fit, at least the first one, and how many more there are. */
const textOf = ({ first: violations, more }: Violations.Violations): string => {
  const texts = violations.map(({ field, message }) => `${field}: ${message}`)
  const whole = texts.join("; ")
  if (more === 0 && whole.length <= maxErrorLength) return whole
  const room = maxErrorLength - "; and 1000000 more".length
  let text = (texts[0] ?? "").slice(0, room).toWellFormed()
  let shown = 1
  for (const next of texts.slice(1)) {
    if (text.length + next.length + 2 > room) break
    text += `; ${next}`
    shown += 1
  }
  const left = texts.length - shown + more
  return left === 0 ? text : `${text}; and ${left} more`
}

export class BadRequest extends Schema.TaggedError<BadRequest>()("BadRequest", {
  /** Names the invalid fields and what was expected, and how many more there are. It never contains a value of the request. */
  error: Schema.optionalKey(Shown.Words)
}) {
  override readonly message = this.error ?? "the request is invalid"

  static of(violations: ReadonlyArray<Violation>): BadRequest {
    const more = Math.max(0, violations.length - Violations.maxViolations)
    return new BadRequest({ error: textOf({ first: violations.slice(0, Violations.maxViolations), more }) })
  }

  static fromIssue(issue: SchemaIssue.Issue, root: string): BadRequest {
    return new BadRequest({ error: textOf(Violations.ofIssue(issue, root)) })
  }
}

export class PayloadTooLarge extends Schema.TaggedError<PayloadTooLarge>()("PayloadTooLarge", {}) {
  override readonly message = "the body of the request has more bytes than the service accepts"
}

/** The media type, or the content coding, of the body is not one that the endpoint takes. */
export class UnsupportedMediaType extends Schema.TaggedError<UnsupportedMediaType>()("UnsupportedMediaType", {
  /** The media types that it takes. */
  accept: Schema.Array(Schema.String.check(Schema.isPattern(/^[a-z]+\/[a-z.+-]+$/u))),
  /** Names the header and what was expected. */
  error: Shown.Words
}) {
  override readonly message = this.error
}

/** The request did not arrive in time. */
export class RequestTimeout extends Schema.TaggedError<RequestTimeout>()("RequestTimeout", {}) {
  override readonly message = "the request did not arrive in time"
}

/** The service cannot meet what `Expect` asks for. */
export class ExpectationFailed extends Schema.TaggedError<ExpectationFailed>()("ExpectationFailed", {}) {
  override readonly message = "the service does not support the value of the header Expect"
}

export class RequestHeaderFieldsTooLarge extends Schema.TaggedError<RequestHeaderFieldsTooLarge>()(
  "RequestHeaderFieldsTooLarge",
  {}
) {
  override readonly message = "the header fields of the request have more bytes than the service accepts"
}

/** The path does not exist. */
export class NotFound extends Schema.TaggedError<NotFound>()("NotFound", {}) {
  override readonly message = "the path does not exist"
}

/** The path exists for other methods. */
export class MethodNotAllowed extends Schema.TaggedError<MethodNotAllowed>()("MethodNotAllowed", {
  allow: Schema.Array(Schema.String.check(Schema.isPattern(/^[A-Z]+$/u)))
}) {
  override readonly message = `the path exists only for the methods ${this.allow.join(", ")}`
}

export class InternalServerError extends Schema.TaggedError<InternalServerError>()("InternalServerError", {
  /** Names the resource whose row was changed outside of the service. Absent: another fault, which only the log explains. */
  error: Schema.optionalKey(Shown.Words)
}) {
  override readonly message = this.error ?? "the service has failed; its log has the reason"
}

/** A chain or a signer does not answer, or not with what is needed. `error` names it, without any text of its own. */
export class BadGateway extends Schema.TaggedError<BadGateway>()("BadGateway", { error: Shown.Words }) {
  override readonly message = this.error
}

/** The database cannot be reached, the request took too long, or the instance is stopping. */
export class ServiceUnavailable extends Schema.TaggedError<ServiceUnavailable>()("ServiceUnavailable", {}) {
  override readonly message =
    "the database cannot be reached, the request took too long, the instance is stopping, or it is older than the schema of the database; try again"
}

/** The network type of the relayer does not have what the endpoint does, or the service does not support it yet. */
export class NotImplemented extends Schema.TaggedError<NotImplemented>()("NotImplemented", {
  error: Shown.Words
}) {
  override readonly message = this.error
}

/** `Host` names a host that the console does not serve, as after DNS rebinding. */
export class MisdirectedRequest extends Schema.TaggedError<MisdirectedRequest>()("MisdirectedRequest", {}) {
  override readonly message =
    "Host: Expected a loopback address, the address that the service listens on, or an origin of CONSOLE_ORIGINS"
}
