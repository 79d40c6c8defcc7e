// The caller of a request, and the errors of a request that may not be made.
import { Context, Effect, Option, Schema } from "effect"
import { reservedKeyIds } from "./ApiKey.ts"
import { allows } from "./Scope.ts"
import type { Grant, Scope } from "./Scope.ts"
import type { TransactionLimits } from "../transaction/TransactionLimits.ts"

/** The holder of an API key. */
export interface Caller {
  /** Id of the API key. */
  readonly id: string
  /** Absent if the caller may do everything. */
  readonly scopes?: ReadonlyArray<Grant>
  /** The only relayers that the caller can use. Absent if it can use all. */
  readonly relayerIds?: ReadonlyArray<string>
  /** Whether it is an API key of the database, which may be deleted while its request is handled. Absent: it is not. */
  readonly isStored?: true
  /** What the caller may send. Absent: everything that policies allow. */
  readonly transactionLimits?: TransactionLimits
  /** The session of the console that the caller is signed in with. Absent: the request has the API key itself. */
  readonly sessionId?: string
}

export class CurrentCaller extends Context.Service<CurrentCaller, Caller>()(
  "effect-relayer/domain/access/Caller/CurrentCaller"
) {}

/** The caller if a host program calls a service without a request. */
const program: Caller = { id: "program" }

/** The caller of the current request. Outside of requests, the host program. */
export const current = Effect.map(
  Effect.serviceOption(CurrentCaller),
  Option.getOrElse(() => program)
)

/** The caller with this id, as messages name it. */
export const nameOfCaller = (id: string): string => (reservedKeyIds.has(id) ? `the ${id}` : `key ${id}`)

/** Whether the caller's scopes include this one. */
export const hasScope = ({ scopes }: Caller, scope: Scope): boolean => scopes === undefined || allows(scopes, scope)

/** Whether the caller can use the relayer. */
export const mayUseRelayer = (caller: Caller, id: string): boolean => caller.relayerIds?.includes(id) ?? true

/** Whether the caller may do everything: the administrator, or a host program. */
export const isAdministrator = ({ scopes, relayerIds }: Caller): boolean =>
  scopes === undefined && relayerIds === undefined

/** The API key is missing, unknown, expired or revoked. The response does not say which of the last three. */
export class Unauthorized extends Schema.TaggedError<Unauthorized>()("Unauthorized", {
  /** Absent if the request has no API key. */
  reason: Schema.optionalKey(Schema.Literal("invalid_token"))
}) {
  override readonly message = "the API key is missing, unknown, expired or revoked"
}

/** The key's scopes do not allow the call. */
export class Forbidden extends Schema.TaggedError<Forbidden>()("Forbidden", {}) {
  override readonly message = "the API key does not allow this request"

  /** The caller, if an endpoint refuses it as a whole: the request counts against its rate limit. Not part of the response. */
  declare readonly callerId?: string

  /** The refusal of a caller by an endpoint. */
  static of(callerId: string): Forbidden {
    return Object.assign(new Forbidden(), { callerId })
  }
}

/** The token bucket of the key is empty. */
export class TooManyRequests extends Schema.TaggedError<TooManyRequests>()("TooManyRequests", {
  /** Whole seconds until a request is accepted again. */
  retryAfter: Schema.Natural
}) {
  override readonly message = `the limit of requests is reached; try again in ${this.retryAfter} seconds`
}
