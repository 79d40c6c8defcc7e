// What every request may have: invalid input, conditions on a version, a key that makes it safe to repeat, merge patches.
import { Effect, Predicate, Schema } from "effect"
import type { SchemaIssue } from "effect"
import * as Shown from "./Shown.ts"
import * as Violations from "./Violations.ts"
import type { Violation } from "./Violations.ts"

export type { Violation } from "./Violations.ts"

/** Longest `error` text, in UTF-16 code units. */
export const maxErrorLength = 1024

const textsOf = ({ first }: Violations.Violations) => first.map(({ field, message }) => `${field}: ${message}`)

const wholeTextOf = (violations: Violations.Violations): string => textsOf(violations).join("; ")

/** As many whole violations as fit, at least the first one, and how many more there are. */
const textOf = (violations: Violations.Violations): string => {
  const { more } = violations
  const texts = textsOf(violations)
  const whole = wholeTextOf(violations)
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

  /** It lists the fields that an object has only if there is room for all that is wrong. `before`: what is said first. */
  static fromIssue(issue: SchemaIssue.Issue, root: string, before: ReadonlyArray<Violation> = []): BadRequest {
    const of = (length: "short" | "long"): Violations.Violations => {
      const { first, more } = Violations.ofIssue(issue, root, length)
      return { first: [...before, ...first], more }
    }
    const long = of("long")
    const isWhole = long.more === 0 && wholeTextOf(long).length <= maxErrorLength
    return new BadRequest({ error: textOf(isWhole ? long : of("short")) })
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
  override readonly message = "the path does not exist; those of the API begin with /api/v1"
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

// Checks the requests of host programs, which no endpoint has decoded.

/** Returns a request that follows the schema. Otherwise `BadRequest` names every invalid field. */
export const checked = <S extends Schema.Top>(
  schema: S
): ((request: S["Type"]) => Effect.Effect<S["Type"], BadRequest>) => {
  const decode = Schema.decodeUnknownEffect(Schema.toType(schema))
  return (request) =>
    Effect.mapError(decode(request, { errors: "all", onExcessProperty: "error" }), ({ issue }) =>
      BadRequest.fromIssue(issue, "request")
    )
}

// The largest size of a relayer or a network. Every change writes the resource to its events, its deliveries and the audit log,
// so its size decides what a small request costs.

/** Bytes of JSON, in UTF-8. More than 1,000 addresses or 300 RPC URLs, and 16 resources fit into a page of 1 MiB. */
export const maxResourceBytes = 65_536

const encoder = new TextEncoder()

/** Bytes of a value as JSON. */
export const jsonBytesOf = (value: unknown): number => {
  const text = JSON.stringify(value, (_, child: unknown) => (typeof child === "bigint" ? Number(child) : child))
  return text === undefined ? 0 : encoder.encode(text).length
}

/** Fails with the largest field if the request is too large. A change may keep the size of `before`, the current resource. */
export const checkResourceSize = (request: object, before?: object): Effect.Effect<void, BadRequest> =>
  Effect.suspend(() => {
    const bytes = jsonBytesOf(request)
    if (bytes <= maxResourceBytes || (before !== undefined && bytes <= jsonBytesOf(before))) return Effect.void
    const fields = Object.entries(request).map(([field, value]) => ({ field, bytes: jsonBytesOf(value) }))
    const [largest] = fields.sort((one, other) => other.bytes - one.bytes)
    const message = `makes the resource ${bytes} bytes of JSON; at most ${maxResourceBytes} are allowed`
    return Effect.fail(BadRequest.of([{ field: largest?.field ?? "body", message }]))
  })

/** The first of the resources, as many as have together at most so many bytes of JSON. */
export const fittingResources = <A>(resources: ReadonlyArray<A>, bytes: number): ReadonlyArray<A> => {
  let left = bytes
  const end = resources.findIndex((resource) => (left -= jsonBytesOf(resource)) < 0)
  return end === -1 ? resources : resources.slice(0, end)
}

// Versions of a resource, and the conditions of requests on them (RFC 9110, sections 8.8.3 and 13.1).

/** A resource, and the name of its version. No other state of any resource under the same id ever has the same name. */
export interface Versioned<A> {
  readonly value: A
  readonly version: string
}

/** The resource has changed since the caller read it. */
export class PreconditionFailed extends Schema.TaggedError<PreconditionFailed>()("PreconditionFailed", {}) {
  override readonly message = "the resource has another version than If-Match names; read it again"
}

/** A strong entity tag. */
export const entityTag = (version: string): string => `"${version}"`

const tagsOf = (header: string): ReadonlyArray<string> => header.split(",").map((tag) => tag.trim())

/**
 * Whether `If-Match` names `version`. The comparison is strong: a weak tag (`W/"…"`) names nothing. Absent `ifMatch`: there is
 * no condition.
 */
export const isCurrentVersion = (ifMatch: string | undefined, version: string): boolean => {
  if (ifMatch === undefined) return true
  const tags = tagsOf(ifMatch)
  return tags.includes("*") || tags.includes(entityTag(version))
}

const withoutWeakness = (tag: string): string => tag.replace(/^W\//, "")

/** Whether `If-None-Match` names `tag`. The comparison is weak: `W/"3"` names `"3"` as well. */
export const isKnownVersion = (ifNoneMatch: string, tag: string): boolean => {
  const tags = tagsOf(ifNoneMatch)
  return tags.includes("*") || tags.map(withoutWeakness).includes(withoutWeakness(tag))
}

// Requests that are safe to repeat (draft-ietf-httpapi-idempotency-key-header).

export const IdempotencyKey = Schema.String.check(
  Schema.isPattern(/^[\x21-\x7e]{1,255}$/u, { expected: "1 to 255 visible ASCII characters" })
)

/** The key was used for a request with another method, path or body. */
export class IdempotencyKeyReused extends Schema.TaggedError<IdempotencyKeyReused>()("IdempotencyKeyReused", {}) {
  override readonly message = "the Idempotency-Key belongs to a different request; use a new key"
}

/** The first request with the key is still running. */
export class IdempotencyKeyBusy extends Schema.TaggedError<IdempotencyKeyBusy>()("IdempotencyKeyBusy", {}) {
  override readonly message = "a request with this Idempotency-Key is in progress; try again"
}

// JSON Merge Patch (RFC 7396).

type Members = { readonly [key: string]: unknown }

const isObject = (value: unknown): value is Members => Predicate.isObject(value) && !Array.isArray(value)

/** Applies `patch` to `target`: null removes a member, an object patches an object, every other value replaces. */
export const applyMergePatch = (target: unknown, patch: unknown): unknown => {
  if (!isObject(patch)) return patch
  const merged = new Map(Object.entries(isObject(target) ? target : {}))
  for (const [key, value] of Object.entries(patch)) {
    if (value === null) merged.delete(key)
    else merged.set(key, applyMergePatch(merged.get(key), value))
  }
  return Object.fromEntries(merged)
}

/** A field that exists and that a patch cannot change. */
export const immutableField = Schema.optionalKey(Schema.Never.annotate({ message: "cannot be changed" }))
