// Cross-origin requests of browsers, from the origins that the configuration allows.
import { Context, Effect } from "effect"
import { HttpMiddleware, HttpServerRequest } from "effect/http"
import type { HttpServerResponse } from "effect/http"

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

/** A preflight brings no credentials: it is answered without them. Other `OPTIONS` requests are not preflights. */
const isCrossOrigin = ({ headers, method }: HttpServerRequest.HttpServerRequest): boolean =>
  headers["origin"] !== undefined && (method !== "OPTIONS" || headers["access-control-request-method"] !== undefined)

type App<E, R> = Effect.Effect<HttpServerResponse.HttpServerResponse, E, R>

export const make = (allowedOrigins: ReadonlyArray<string>) => {
  const cors = HttpMiddleware.cors({
    // A list of one would be sent to every origin, also to one that is not on it.
    allowedOrigins: (origin) => allowedOrigins.includes(origin),
    allowedMethods: ["GET", "HEAD", "POST", "PATCH", "DELETE"],
    allowedHeaders,
    exposedHeaders,
    maxAge
  })
  return <E, R>(self: App<E, R>): App<E, R | HttpServerRequest.HttpServerRequest> => {
    if (allowedOrigins.length === 0) return self
    const shared = cors(self)
    return Effect.withFiber(({ context }) =>
      isCrossOrigin(Context.getUnsafe(context, HttpServerRequest.HttpServerRequest)) ? shared : self
    )
  }
}
