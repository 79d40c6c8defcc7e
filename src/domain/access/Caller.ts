// The caller of a request, with an API key or with a session of the console, which has the present rights of a key.
import { Context, DateTime, Duration, Effect, Option, Schema } from "effect"
import { RelayerId } from "../relayer/Relayer.ts"
import { field, shown } from "../request/Field.ts"
import * as Shown from "../request/Shown.ts"
import { Instant, maybe, text } from "../request/Shown.ts"
import type { TransactionLimits } from "../../networks/core/TransactionLimits.ts"
import { allows, Grant, reservedKeyIds, Scope } from "./ApiKey.ts"

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
  override readonly message =
    this.reason === undefined
      ? "the request has no API key; send it as Authorization: Bearer KEY"
      : "the API key is unknown, expired or revoked"
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

// Sessions of the console: a person exchanges an API key for a session, which has the present rights of the key.

/** 32 hexadecimal digits: a part of the hash of the session's cookie. */
export const SessionId = Schema.String.check(
  Schema.isPattern(/^[0-9a-f]{32}$/u, { expected: "32 hexadecimal digits in lower case" })
).annotate({ description: "Identifier of the session.", examples: ["6b0f2c1d9a3e4f5867ab01cd23ef4567"] })
export type SessionId = typeof SessionId.Type

/** Longer than any API key. */
const maxKeyLength = 512

export const CreateSession = Schema.Struct({
  key: field(
    Schema.RedactedFromValue(text(1, maxKeyLength)),
    "The API key, or the administrator's key.",
    "er_key_7Jx0mZ2kQv"
  ),
  read_only: maybe(Schema.Boolean, {
    description: "Whether the session lacks every scope that does not end in `:read`. The default is false.",
    examples: [true]
  })
}).annotate({ identifier: "CreateSessionRequest" })
export type CreateSession = typeof CreateSession.Type

const times = {
  created_at: field(Instant, "When the person signed in.", "2026-01-02T03:04:05.678Z"),
  expires_at: field(Instant, "When the session ends at the latest.", "2026-01-02T11:04:05.678Z"),
  idle_ends_at: field(
    Instant,
    "When the session ends if no person uses it until then, to the minute.",
    "2026-01-02T03:34:05.678Z"
  )
}

const keyId = field(Shown.Id, "Id of the API key; `administrator` for the administrator's key.", "support")

const readOnly = field(Schema.Boolean, "Whether the session lacks every scope that does not end in `:read`.", false)

export const Session = Schema.Struct({
  id: SessionId,
  key_id: keyId,
  read_only: readOnly,
  ...times,
  last_used_at: field(Instant, "When a person last used it, to the minute.", "2026-01-02T03:04:05.678Z"),
  from: shown(Shown.ClientAddress, "The network address that signed in.", "203.0.113.7"),
  browser: shown(Shown.Words, "The start of the browser's `User-Agent`, as the browser sent it.", "Mozilla/5.0")
}).annotate({ identifier: "Session", description: "A person who is signed in to the console." })
export type Session = typeof Session.Type

const keyName = shown(
  Shown.Words,
  "Name of the API key. Absent for the administrator's key, and for a key that is revoked or has expired.",
  "support desk"
)

/** A session in the list of sessions. */
export const ListedSession = Schema.Struct({
  ...Session.fields,
  key_name: keyName,
  current: field(Schema.Boolean, "Whether the request was made in this session.", true)
}).annotate({ identifier: "ListedSession", description: "A session, and whether it is that of the request." })
export type ListedSession = typeof ListedSession.Type

const rights = {
  key_id: keyId,
  key_name: keyName,
  scopes: field(
    Schema.Array(Grant),
    "What the session may do now: the scopes of its key, without those that a read-only session lacks.",
    ["relayers:read", "transactions:read"]
  ),
  relayer_ids: shown(Schema.Array(RelayerId), "The only relayers that the key can use. Absent: all.", ["payouts"]),
  has_transaction_limits: shown(
    Schema.Boolean,
    "Whether the key limits what transactions may send. Absent: it does not.",
    true
  ),
  read_only: readOnly
}

/** The session of a request. */
export const CurrentSession = Schema.Struct({ id: SessionId, ...rights, ...times }).annotate({
  identifier: "CurrentSession",
  description: "The session of the request, with what its key may do now."
})
export type CurrentSession = typeof CurrentSession.Type

/** The response to a sign-in. */
export const NewSession = Schema.Struct({
  ...CurrentSession.fields,
  proof: field(
    Schema.RedactedFromValue(Shown.shaped(/^[A-Za-z0-9_-]{43}$/)),
    "The half of the session that the page sends as `X-Console`. It is not returned again. The other half is the cookie.",
    "h7Jx0mZ2kQvR1y8c5uWnB3dF6gT9aLpXeSoViKqMz4A"
  )
}).annotate({ identifier: "NewSession", description: "A new session with its proof." })
export type NewSession = typeof NewSession.Type

/** How long sessions last. */
export interface SessionLifetimes {
  readonly longest: Duration.Duration
  /** Without a request that a person has caused. */
  readonly idle: Duration.Duration
}

/** `CONSOLE_SESSION_HOURS` and `CONSOLE_IDLE_MINUTES` change these. */
export const defaultSessionLifetimes: SessionLifetimes = { longest: Duration.hours(8), idle: Duration.minutes(30) }

/** Sessions of one key at the same time. If there is another one, the oldest ends. */
export const maxSessionsPerKey = 20

/** Whether the session has not ended by time. */
export const isLiveSession = ({ expires_at, idle_ends_at }: Session, now: DateTime.Utc): boolean =>
  DateTime.isGreaterThan(expires_at, now) && DateTime.isGreaterThan(idle_ends_at, now)

const isReading = (scope: Scope): boolean => scope.endsWith(":read")

/** The grants of `*`, as callers without limits have them. */
const everything: ReadonlyArray<Grant> = ["*"]

/** What a session of this caller may do. Scopes of a read-only session are listed one by one. */
export const grantsOfSession = (
  { scopes = everything }: Pick<Caller, "scopes">,
  isReadOnly: boolean
): ReadonlyArray<Grant> =>
  isReadOnly ? Scope.literals.filter((scope) => isReading(scope) && allows(scopes, scope)) : scopes

/** The caller of a session: its key, with less rights if the session is read-only. */
export const callerOfSession = (caller: Caller, session: Pick<Session, "id" | "read_only">): Caller => ({
  ...caller,
  sessionId: session.id,
  ...(session.read_only ? { scopes: grantsOfSession(caller, true) } : {})
})

export class SessionNotFound extends Schema.TaggedError<SessionNotFound>()("SessionNotFound", {}) {
  override readonly message = "no session has this id, or the caller may not see it"
}

/** The session's two halves would cross a network in plain text. */
export class SignInNeedsTls extends Schema.TaggedError<SignInNeedsTls>()("SignInNeedsTls", {}) {
  override readonly message =
    "sign-in needs TLS on a host that is not this machine: put a proxy with TLS in front and name its https origin in CONSOLE_ORIGINS, or open the console on a loopback address, such as through ssh -L 8080:127.0.0.1:8080"
}
