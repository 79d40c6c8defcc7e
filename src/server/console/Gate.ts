// The only way to a session: requests below `/console` for the own host, made by the own pages, with both halves. What passes gets
// the halves as its token, and every other request gets none, so that no route can read a cookie by itself.
import { Effect } from "effect"
import { Headers, HttpServerRequest } from "effect/http"
import type { HttpServerResponse } from "effect/http"
import { randomUUID } from "node:crypto"
import { Forbidden } from "../../domain/access/Caller.ts"
import { MisdirectedRequest } from "../../domain/request/Request.ts"
import * as Failures from "../responses/Failures.ts"
import { preferredType } from "../responses/Respond.ts"
import * as SessionHalves from "./SessionHalves.ts"
import type { Sessions } from "./Sessions.ts"
import * as Site from "./Site.ts"

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
    Site.named(headers["host"], origins) === undefined ? misdirected : undefined

/** The same for endpoints, which only the own pages may call. */
export const refusalOfEndpoint =
  (origins: ReadonlyArray<string>) =>
  ({ headers }: Request): Response | undefined => {
    const site = Site.named(headers["host"], origins)
    if (site === undefined) return misdirected
    return Site.isSameOrigin(headers, site) ? undefined : forbidden
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
      const site = isForOwnEndpoint(request, origins) ? Site.named(headers["host"], origins) : undefined
      const cookies = site === undefined ? [] : Site.cookieValues(headers["cookie"], site.cookie.name)
      const [cookie = ""] = cookies
      const proof = headers[proofField]
      const sessionId = SessionHalves.idOf(cookie)
      const isWhole = cookies.length === 1 && sessionId !== undefined && SessionHalves.isProof(proof)
      const token = isWhole ? SessionHalves.toToken({ cookie, proof, isByPerson: isByPerson(request) }) : undefined
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
