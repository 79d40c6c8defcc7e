// The only way to a session: requests below `/console` for the own host, made by the own pages, with both halves.
// What passes is authenticated as the key of the session.
import { Duration, Effect, Layer, Option } from "effect"
import type { Redacted } from "effect"
import { Headers, HttpServerRequest } from "effect/http"
import type { HttpServerResponse } from "effect/http"
import { createHash, randomUUID } from "node:crypto"
import { Forbidden, TooManyRequests, Unauthorized } from "../../domain/access/Caller.ts"
import type { Caller } from "../../domain/access/Caller.ts"
import { MisdirectedRequest } from "../../domain/request/Request.ts"
import { isAllowed, makeRefusals } from "../access/KeyAuthentication.ts"
import { Authentication } from "../authentication/Authentication.ts"
import type { Use } from "../authentication/Authentication.ts"
import { makeTokenBuckets, RateLimits } from "../limits/RateLimits.ts"
import * as Failures from "../responses/Failures.ts"
import { preferredType } from "../responses/Respond.ts"
import { fromToken, isProof, sessionIdOf, Sessions, toToken } from "./Sessions.ts"

// What a browser calls the service, and whether a request comes from the console's own pages. Pure functions over header fields.

/** The header fields of a request, with names in lower case. */
type HeaderFields = Readonly<Record<string, string | undefined>>

export interface Site {
  /** The origin of the console's pages, as browsers write it. */
  readonly origin: string
  /** Whether browsers reach the console through TLS. */
  readonly isSecure: boolean
  readonly isLoopback: boolean
  readonly cookie: { readonly name: string; readonly attributes: string }
}

const withoutFinalDot = (host: string): string => host.replace(/\.(?=:\d+$|$)/, "")

/** A host with a port, if it is not the scheme's own. `undefined` if the text is no host. */
const hostOf = (protocol: string, given: string): string | undefined => {
  if (!/^[^\s/?#@\\]+$/.test(given)) return undefined
  const parsed = URL.parse(`${protocol}//${withoutFinalDot(given)}`)
  return parsed === null ? undefined : parsed.host
}

const isLoopbackName = (name: string): boolean =>
  name === "localhost" || name.endsWith(".localhost") || /^127(\.\d+){3}$/.test(name) || name === "[::1]"

/** Whether the setting HOST is reached from this machine only. */
export const isLoopbackAddress = (host: string): boolean => isLoopbackName(host.includes(":") ? `[${host}]` : host)

/** Enough that two origins have different names. */
const originDigits = 8

/**
 * Browsers send a cookie to every port of its host, so the name differs by the port or, behind TLS, by the origin: two services of
 * one host do not end each other's sessions.
 */
const cookieOf = (origin: string, isSecure: boolean): Site["cookie"] => {
  const always = "HttpOnly; SameSite=Strict"
  if (!isSecure) {
    const { port } = new URL(origin)
    return { name: `relayer-console-${port === "" ? "80" : port}`, attributes: `Path=/console; ${always}` }
  }
  const digits = createHash("sha256").update(origin).digest("hex").slice(0, originDigits)
  return { name: `__Host-relayer-console-${digits}`, attributes: `Path=/; Secure; ${always}` }
}

const siteOfOrigin = (origin: string): Site => {
  const { protocol, hostname } = new URL(origin)
  const isSecure = protocol === "https:"
  return { origin, isSecure, isLoopback: isLoopbackName(hostname), cookie: cookieOf(origin, isSecure) }
}

/**
 * The site that the field `Host` names: an origin of the configuration, or a name of this machine with any port. `undefined`: the
 * request is for another host, as after DNS rebinding. The scheme of the connection decides nothing, because a proxy may end TLS.
 */
export const siteOfHost = (host: string | undefined, origins: ReadonlyArray<string>): Site | undefined => {
  if (host === undefined) return undefined
  const origin = origins.find((origin) => {
    const url = new URL(origin)
    return hostOf(url.protocol, host) === url.host
  })
  if (origin !== undefined) return siteOfOrigin(origin)
  const plain = hostOf("http:", host)
  if (plain === undefined) return undefined
  const site = siteOfOrigin(`http://${plain}`)
  return site.isLoopback ? site : undefined
}

/**
 * Whether a page of this site made the request. `Sec-Fetch-Site` and `Origin` are written by browsers, and scripts cannot change them.
 * Pages of another port of the same host are `same-site`, not `same-origin`.
 */
export const isSameOrigin = (headers: HeaderFields, { origin }: Site): boolean => {
  const fetchSite = headers["sec-fetch-site"]
  return fetchSite === undefined ? headers["origin"] === origin : fetchSite === "same-origin"
}

/** The values of a cookie. A browser sends one, unless another server of the host has set a second one. */
export const cookieValues = (header: string | undefined, name: string): ReadonlyArray<string> =>
  (header ?? "").split(";").flatMap((pair) => {
    const [key = "", ...value] = pair.split("=")
    return key.trim() === name ? [value.join("=").trim()] : []
  })

/** `undefined` ends the cookie. */
export const setCookie = ({ cookie: { name, attributes } }: Site, value: string | undefined): string =>
  `${name}=${value ?? ""}; ${attributes}${value === undefined ? "; Max-Age=0" : ""}`

type Request = HttpServerRequest.HttpServerRequest
type Response = HttpServerResponse.HttpServerResponse

/** The header field of the proof; at the sign-in, which has none yet, its value is `1`. It forces a preflight of other origins. */
export const proofField = "x-console"

/** The value `1` says that the page makes the request by itself, without a person. */
const automaticField = "x-console-auto"

const misdirected = Failures.misdirected(new MisdirectedRequest({}))
const forbidden = Failures.forbidden(new Forbidden({}))

/** The response to a request for a page, if its host is not the console's. */
export const refusalOfPage =
  (origins: ReadonlyArray<string>) =>
  ({ headers }: Request): Response | undefined =>
    siteOfHost(headers["host"], origins) === undefined ? misdirected : undefined

/** The same for endpoints, which only the own pages may call. */
export const refusalOfEndpoint =
  (origins: ReadonlyArray<string>) =>
  ({ headers }: Request): Response | undefined => {
    const site = siteOfHost(headers["host"], origins)
    if (site === undefined) return misdirected
    return isSameOrigin(headers, site) ? undefined : forbidden
  }

/** Streams outlast the person in front of them. */
const isByPerson = ({ headers }: Request): boolean =>
  headers[automaticField] !== "1" &&
  preferredType(headers.accept, ["application/json", "text/event-stream"]) !== "text/event-stream"

/** Longest id of a request that a client gives, so that the whole one is not longer than others may be. */
const maxRequestId = 80

/** Names the session in the audit log and in the log of requests. */
const requestIdOf = (sessionId: string, given: string | undefined): string =>
  `console:${sessionId}:${(given ?? randomUUID()).slice(0, maxRequestId)}`

const withHeaders = (request: Request, fields: Readonly<Record<string, string>>): Request =>
  request.modify({ headers: Headers.setAll(Headers.remove(request.headers, "authorization"), fields) })

const isForOwnEndpoint = (request: Request, origins: ReadonlyArray<string>): boolean =>
  refusalOfEndpoint(origins)(request) === undefined

/** Two cookies of the name: another server of this host has set one of them. Both sessions end. */
const endBoth = (sessions: Sessions["Service"], cookies: ReadonlyArray<string>) =>
  sessions
    .endByCookies(cookies)
    .pipe(Effect.ignoreCause({ log: "Warn", message: "cannot end the sessions of a request with two cookies" }))

/** Gives the request the token of its session, in the place of any other one. */
export const withToken =
  (sessions: Sessions["Service"], origins: ReadonlyArray<string>) =>
  <A, E, R>(self: Effect.Effect<A, E, R>) =>
    Effect.flatMap(HttpServerRequest.HttpServerRequest, (request) => {
      const { headers } = request
      const site = isForOwnEndpoint(request, origins) ? siteOfHost(headers["host"], origins) : undefined
      const cookies = site === undefined ? [] : cookieValues(headers["cookie"], site.cookie.name)
      const [cookie = ""] = cookies
      const proof = headers[proofField]
      const sessionId = sessionIdOf(cookie)
      const isWhole = cookies.length === 1 && sessionId !== undefined && isProof(proof)
      const token = isWhole ? toToken({ cookie, proof, isByPerson: isByPerson(request) }) : undefined
      const fields =
        token === undefined || sessionId === undefined
          ? {}
          : {
              authorization: `Bearer ${token}`,
              "x-request-id": requestIdOf(sessionId, headers["x-request-id"])
            }
      return Effect.andThen(
        cookies.length > 1 ? endBoth(sessions, cookies) : Effect.void,
        Effect.provideService(self, HttpServerRequest.HttpServerRequest, withHeaders(request, fields))
      )
    })

// Implements `Authentication` for the console: the token of a request has both halves of a session, and the caller is the key of
// that session as it is now.

/** What requests that pages make by themselves may take of the rate limit of a key. */
const pageShare = 1 / 4

/** Seconds after which a page may ask again. */
const retryAfter = 1

export const layerSessionAuthentication = Layer.effect(
  Authentication,
  Effect.gen(function* () {
    const sessions = yield* Sessions
    const refused = yield* makeRefusals
    const { options } = yield* RateLimits
    const { take } = makeTokenBuckets()
    const limit = Math.max(1, Math.floor(options.burst * pageShare))
    const refillRate = Duration.seconds(1 / (options.requestsPerSecond * pageShare))

    /** Takes a token of the requests that pages make by themselves with this key. */
    const admitPage = ({ id }: Caller) =>
      take({ key: id, limit, refillRate, tokens: 1, allowOverflow: false }).pipe(
        Effect.orDie,
        Effect.flatMap(([remaining]) =>
          remaining < 0 ? Effect.fail(new TooManyRequests({ retryAfter })) : Effect.void
        )
      )

    const check = Effect.fnUntraced(function* (caller: Caller, use: Use | undefined) {
      if (use === undefined || isAllowed(caller, use)) return caller
      yield* refused(caller, use)
      return yield* Forbidden.of(caller.id)
    })

    const authenticate = Effect.fnUntraced(function* (token: Redacted.Redacted, use: Use | undefined) {
      const presented = fromToken(token)
      const found = presented === undefined ? Option.none() : yield* sessions.find(presented)
      if (presented === undefined || Option.isNone(found)) return yield* new Unauthorized({})
      const { caller } = found.value
      if (!presented.isByPerson) yield* admitPage(caller)
      return yield* check(caller, use)
    })

    return Authentication.of({ authenticate })
  })
)
