// Who calls, and what stops a call before it reaches a resource.
import { Context, Effect, Option, Schema } from "effect"
import type { Grant } from "./Scope.ts"

/** The holder of an API key. */
export interface Caller {
  /** Names the key, never holds it. */
  readonly id: string
  /** Absent: everything. */
  readonly scopes?: ReadonlyArray<Grant>
  /** The only relayers that there are for this caller. Absent: all. */
  readonly relayerIds?: ReadonlyArray<string>
}

export class CurrentCaller extends Context.Service<CurrentCaller, Caller>()(
  "effect-relayer/domain/access/Caller/CurrentCaller"
) {}

/** Whose call it is where a program calls the services itself. */
const program: Caller = { id: "program" }

/** The caller of the request that is being answered; the program, outside of requests. */
export const current = Effect.map(
  Effect.serviceOption(CurrentCaller),
  Option.getOrElse(() => program)
)

/** Whether there is such a relayer for this caller. */
export const mayUseRelayer = (caller: Caller, id: string): boolean => caller.relayerIds?.includes(id) ?? true

/** Whether the caller may do everything: the administrator, or a host program. */
export const isAdministrator = ({ scopes, relayerIds }: Caller): boolean =>
  scopes === undefined && relayerIds === undefined

/** The request brings no token, or one that is unknown, expired or revoked. Which of these three is not said. */
export class Unauthorized extends Schema.TaggedError<Unauthorized>()("Unauthorized", {
  /** Absent: the request brings no token. */
  reason: Schema.optionalKey(Schema.Literal("invalid_token"))
}) {}

/** The key's scopes do not allow the call. */
export class Forbidden extends Schema.TaggedError<Forbidden>()("Forbidden", {}) {}

/** The token bucket of the key is empty. */
export class TooManyRequests extends Schema.TaggedError<TooManyRequests>()("TooManyRequests", {
  /** Whole seconds until a request is let through again. */
  retryAfter: Schema.Int
}) {}
