// Who calls, and what stops a call before it reaches a resource.
import { Context, Schema } from "effect"

/** The holder of an API key. */
export interface Caller {
  /** Names the key, never holds it. */
  readonly id: string
}

export class CurrentCaller extends Context.Service<CurrentCaller, Caller>()(
  "effect-relayer/domain/Caller/CurrentCaller"
) {}

/** The token is missing, malformed or unknown: which of them is not told. */
export class Unauthorized extends Schema.TaggedError<Unauthorized>()("Unauthorized", {}) {}

/** The key's scopes do not allow the call. */
export class Forbidden extends Schema.TaggedError<Forbidden>()("Forbidden", {}) {}

/** The token bucket of the key is empty. */
export class TooManyRequests extends Schema.TaggedError<TooManyRequests>()("TooManyRequests", {
  /** Whole seconds until a request is let through again. */
  retryAfter: Schema.Int
}) {}
