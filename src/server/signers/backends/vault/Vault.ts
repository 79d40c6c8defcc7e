// HashiCorp Vault over HTTP: logs in by AppRole, and caches the token for its lease.
import { Cache, Duration, Effect, Equal, Exit, Option, Redacted, Schema } from "effect"
import { HttpClientRequest, HttpClientResponse } from "effect/http"
import type { HttpClient } from "effect/http"
import { refusal } from "../../../../outbound/Outbound.ts"
import type { SignerUnavailable } from "../SignerBackend.ts"
import { unavailable } from "./VaultLogin.ts"
import type { VaultLogin } from "./VaultLogin.ts"

interface Call<A> {
  /** Segments below `/v1`, separated by slashes. */
  readonly path: string
  /** Makes the call a `POST`. Absent: a `GET`. */
  readonly body?: unknown
  readonly answer: Schema.ConstraintDecoder<A>
  /** The failure that the errors of a response with status 400 mean. Their texts are never shown. */
  readonly explain?: (errors: ReadonlyArray<string>) => SignerUnavailable | undefined
}

export interface Vault {
  call<A>(login: VaultLogin, call: Call<A>): Effect.Effect<A, SignerUnavailable>
}

/** The number of cached tokens, and the longest time in the cache. */
const capacity = 1000
const longest = Duration.hours(1)

/** A valid value of a header. */
const Token = Schema.RedactedFromValue(Schema.String.check(Schema.isPattern(/^[\x21-\x7e]{1,8192}$/u)))

const LoginAnswer = Schema.Struct({
  auth: Schema.Struct({
    client_token: Token,
    /** Seconds; 0 means no end. */
    lease_duration: Schema.Int
  })
})
type Auth = (typeof LoginAnswer.Type)["auth"]

/** Nine tenths of the lease, so that no token expires during a call. */
const timeToLive = (exit: Exit.Exit<Auth, unknown>) => {
  if (Exit.isFailure(exit)) return Duration.zero
  const { lease_duration } = exit.value
  return lease_duration === 0 ? longest : Duration.min(Duration.seconds(lease_duration * 0.9), longest)
}

const Refusal = Schema.Struct({ errors: Schema.Array(Schema.String) })

const urlOf = (address: string, path: string) => {
  const { origin, pathname } = new URL(address)
  return `${origin}${pathname.replace(/\/+$/, "")}/v1/${path.split("/").map(encodeURIComponent).join("/")}`
}

const read = <A>(response: HttpClientResponse.HttpClientResponse, answer: Schema.ConstraintDecoder<A>) =>
  Effect.mapError(HttpClientResponse.schemaBodyJson(answer)(response), () => unavailable("unexpected"))

export const make = Effect.fnUntraced(function* (client: HttpClient.HttpClient) {
  const send = ({ address, namespace }: VaultLogin, path: string, body: unknown, token?: Redacted.Redacted) => {
    const url = urlOf(address, path)
    const request =
      body === undefined
        ? HttpClientRequest.get(url)
        : HttpClientRequest.bodyJsonUnsafe(HttpClientRequest.post(url), body)
    const headers = {
      "x-vault-request": "true",
      ...(namespace === undefined ? {} : { "x-vault-namespace": namespace }),
      ...(token === undefined ? {} : { "x-vault-token": Redacted.value(token) })
    }
    return client.execute(HttpClientRequest.setHeaders(request, headers)).pipe(
      Effect.mapError((error) => {
        const refused = refusal(error)
        return refused === undefined
          ? unavailable("unreachable")
          : unavailable("forbidden", { detail: refused.message })
      }),
      Effect.filterOrFail(
        ({ status }) => status !== 429,
        () => unavailable("throttled")
      ),
      Effect.filterOrFail(
        ({ status }) => status < 500,
        () => unavailable("unreachable")
      )
    )
  }

  const logIn = Effect.fn("Vault.logIn")(function* (login: VaultLogin) {
    const body = {
      role_id: Redacted.value(login.credentials.role_id),
      secret_id: Redacted.value(login.credentials.secret_id)
    }
    const response = yield* send(login, "auth/approle/login", body)
    if (response.status >= 400) return yield* unavailable("login")
    return (yield* read(response, LoginAnswer)).auth
  })

  const logins = yield* Cache.makeWith(logIn, { capacity, timeToLive })

  const call: Vault["call"] = Effect.fn("Vault.call")(function* (login, { path, body, answer, explain }) {
    const kept = yield* Cache.getSuccess(logins, login)
    let auth = yield* Cache.get(logins, login)
    let response = yield* send(login, path, body, auth.client_token)
    if (response.status === 403 && Option.isSome(kept)) {
      // The token was revoked, or its uses are exhausted.
      yield* Cache.invalidateWhen(logins, login, (current) => Equal.equals(current, auth))
      auth = yield* Cache.get(logins, login)
      response = yield* send(login, path, body, auth.client_token)
    }
    if (response.status === 403) return yield* unavailable("refused")
    if (response.status === 404) return yield* unavailable("not_found")
    if (response.status === 200) return yield* read(response, answer)
    if (response.status !== 400 || explain === undefined) return yield* unavailable("unexpected")
    const { errors } = yield* read(response, Refusal)
    return yield* explain(errors) ?? unavailable("unexpected")
  })

  return { call }
})
