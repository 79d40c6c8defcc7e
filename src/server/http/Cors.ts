// Cross-origin requests of browsers, from the origins that the configuration allows.
import { Context, Effect } from "effect"
import { HttpMiddleware, HttpServerRequest } from "effect/http"
import type { HttpServerResponse } from "effect/http"
import type { Strangers } from "../limits/Strangers.ts"
import * as Failures from "../responses/Failures.ts"

/** Seconds for which a browser may reuse the response to a preflight. Chromium allows no more. */
const maxAge = 7200

const allowedHeaders = [
  "authorization",
  "content-type",
  "idempotency-key",
  "if-match",
  "if-none-match",
  "last-event-id",
  "x-relayer-debug",
  "x-request-id"
]

/** The header fields beyond the few that a browser shows to scripts anyway. */
const exposedHeaders = [
  "allow",
  "etag",
  "idempotency-replayed",
  "link",
  "location",
  "ratelimit",
  "ratelimit-policy",
  "retry-after",
  "www-authenticate",
  "x-relayer-version",
  "x-request-id"
]

type Request = HttpServerRequest.HttpServerRequest

/** A preflight has no credentials. The service answers it without them, within the limit of its address. */
const isPreflight = ({ headers, method }: Request): boolean =>
  method === "OPTIONS" && headers["origin"] !== undefined && headers["access-control-request-method"] !== undefined

/** Other `OPTIONS` requests are not preflights, and are answered to callers with a key. */
const isCrossOrigin = (request: Request): boolean =>
  request.headers["origin"] !== undefined && (request.method !== "OPTIONS" || isPreflight(request))

type App<E, R> = Effect.Effect<HttpServerResponse.HttpServerResponse, E, R>

export const make = (
  allowedOrigins: ReadonlyArray<string>,
  { admitPreflight }: Pick<Strangers["Service"], "admitPreflight">
) => {
  const cors = HttpMiddleware.cors({
    // A list of one would be sent to every origin, also to one that is not on it.
    allowedOrigins: (origin) => allowedOrigins.includes(origin),
    allowedMethods: ["GET", "HEAD", "POST", "PATCH", "DELETE"],
    allowedHeaders,
    exposedHeaders,
    maxAge
  })
  return <E, R>(self: App<E, R>): App<E, R | Request> => {
    if (allowedOrigins.length === 0) return self
    const shared = cors(self)
    const preflight = Effect.matchEffect(admitPreflight, {
      onFailure: (error) => Effect.succeed(Failures.tooManyRequests(error)),
      onSuccess: () => shared
    })
    return Effect.withFiber(({ context }) => {
      const request = Context.getUnsafe(context, HttpServerRequest.HttpServerRequest)
      if (isPreflight(request)) return preflight
      return isCrossOrigin(request) ? shared : self
    })
  }
}
