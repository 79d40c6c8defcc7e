// JSON over HTTP with the API of a key service: one request without a retry, and access tokens that are kept until they expire.
import { Cache, Clock, Duration, Effect, Equal, Exit } from "effect"
import type { Redacted, Schema } from "effect"
import { HttpClientResponse } from "effect/http"
import type { Headers, HttpClient, HttpClientRequest } from "effect/http"
import { refusal } from "../../../outbound/Outbound.ts"
import type { Failures, RemoteReason } from "./RemoteSigner.ts"
import { requestIdField } from "./SignerBackend.ts"
import type { SignerUnavailable } from "./SignerBackend.ts"

/** Seconds. Key services accept clocks that differ by a few minutes. */
const tolerableSkew = 60

interface Refusal {
  readonly reason: RemoteReason
  readonly detail?: string
}

interface RestOptions {
  readonly failures: Failures
  /** The response header with the id that the key service gave to the call. */
  readonly requestId?: string
  /** Interprets an error response, if its body says more than its status. */
  readonly explain?: (status: number, body: unknown) => Refusal | undefined
}

export interface Answer<A> {
  readonly value: A
  readonly requestId?: string
}

export interface Rest {
  call<A>(
    request: HttpClientRequest.HttpClientRequest,
    answer: Schema.ConstraintDecoder<A>
  ): Effect.Effect<Answer<A>, SignerUnavailable>
}

const reasons: Readonly<Record<number, RemoteReason>> = {
  401: "login",
  403: "refused",
  404: "not_found",
  408: "unreachable",
  429: "throttled"
}

const reasonOf = (status: number): RemoteReason => reasons[status] ?? (status >= 500 ? "unreachable" : "unexpected")

/** Milliseconds. The header has seconds or a date (RFC 9110, section 10.2.3). */
const retryAfter = (text: string | undefined, now: number): number | undefined => {
  if (text === undefined) return undefined
  const wait = /^\d{1,6}$/u.test(text) ? Number(text) * 1000 : Date.parse(text) - now
  return Number.isNaN(wait) ? undefined : Math.max(0, wait)
}

/** If the local clock is wrong, every login fails, and the key service does not give the reason. Empty if the clocks agree. */
const skew = (date: string | undefined, now: number): string => {
  const seconds = Math.round((now - Date.parse(date ?? "")) / 1000)
  if (!(Math.abs(seconds) > tolerableSkew)) return ""
  return `; the clock of this machine is ${Math.abs(seconds)} s ${seconds > 0 ? "ahead" : "behind"}`
}

export const make = (client: HttpClient.HttpClient, options: RestOptions): Rest => {
  const { unavailable } = options.failures

  const requestIdOf = (headers: Headers.Headers) =>
    requestIdField(options.requestId === undefined ? undefined : headers[options.requestId])

  const refused = Effect.fnUntraced(function* (response: HttpClientResponse.HttpClientResponse) {
    const { headers, status } = response
    const now = yield* Clock.currentTimeMillis
    const body = yield* Effect.orElseSucceed(response.json, () => undefined)
    const { reason, detail } = options.explain?.(status, body) ?? { reason: reasonOf(status) }
    return yield* unavailable(reason, {
      detail: `${detail ?? unavailable(reason).message}${reason === "login" ? skew(headers.date, now) : ""}`,
      retryAfter: retryAfter(headers["retry-after"], now),
      ...requestIdOf(headers)
    })
  })

  const call: Rest["call"] = (request, answer) =>
    client.execute(request).pipe(
      Effect.mapError((error) => {
        const refused = refusal(error)
        return refused === undefined
          ? unavailable("unreachable")
          : unavailable("forbidden", { detail: refused.message })
      }),
      Effect.flatMap((response) => {
        if (response.status !== 200) return refused(response)
        const requestId = requestIdOf(response.headers)
        return Effect.mapBoth(HttpClientResponse.schemaBodyJson(answer)(response), {
          onFailure: () => unavailable("unexpected", requestId),
          onSuccess: (value) => ({ value, ...requestId })
        })
      })
    )

  return { call }
}

// Access tokens of identities: one fetch at a time for each, used until a minute before the token expires.

export interface Token {
  readonly value: Redacted.Redacted
  /** The lifetime, from the moment of the fetch. */
  readonly lifetime: Duration.Duration
}

export interface Tokens<Login> {
  /** Runs `call` with a token. If the key service refuses the token, the next call gets a new one. */
  use<A, R>(
    login: Login,
    call: (token: Redacted.Redacted) => Effect.Effect<A, SignerUnavailable, R>
  ): Effect.Effect<A, SignerUnavailable, R>
}

/** The number of cached tokens. */
const capacity = 1000

const reserve = Duration.minutes(1)

const timeToLive = (exit: Exit.Exit<Token, unknown>) =>
  Exit.isSuccess(exit) ? Duration.max(Duration.subtract(exit.value.lifetime, reserve), Duration.zero) : Duration.zero

/** Equal logins share a token, so a login contains everything that identifies its identity. */
export const makeTokens = Effect.fnUntraced(function* <Login>(
  fetch: (login: Login) => Effect.Effect<Token, SignerUnavailable>
) {
  const tokens = yield* Cache.makeWith(fetch, { capacity, timeToLive })

  const use: Tokens<Login>["use"] = Effect.fnUntraced(function* (login, call) {
    const token = yield* Cache.get(tokens, login)
    return yield* Effect.tapError(call(token.value), ({ reason }) =>
      reason === "login" ? Cache.invalidateWhen(tokens, login, (current) => Equal.equals(current, token)) : Effect.void
    )
  })

  return { use } satisfies Tokens<Login>
})
