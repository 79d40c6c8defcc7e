// Responses to requests that end without a response of their endpoint, or that match no route.
import { Effect } from "effect"
import type { Cause } from "effect"
import { FindMyWay, HttpServerError, HttpServerRequest, HttpServerResponse } from "effect/http"
import { HttpApi, HttpApiBuilder, HttpApiSecurity } from "effect/http-api"
import { Api } from "../../api/Api.ts"
import * as Request from "../../domain/request/Request.ts"
import { Strangers } from "../limits/Strangers.ts"
import * as Failures from "../responses/Failures.ts"
import { isUnavailable } from "../../sql/Transaction.ts"
import { CurrentRequest } from "../responses/CurrentRequest.ts"
import { changedRowIn } from "../secrets/Secrets.ts"
import { makeBuckets, makeCredentials } from "./MiddlewareHttp.ts"

type Response = HttpServerResponse.HttpServerResponse

export const isRouteNotFound = (cause: Cause.Cause<unknown>): boolean =>
  cause.reasons.some(
    (reason) =>
      reason._tag === "Fail" &&
      HttpServerError.isHttpServerError(reason.error) &&
      reason.error.reason._tag === "RouteNotFound"
  )

/** The client has disconnected: there is nobody to send a response to. */
const isClientAbort = (cause: Cause.Cause<unknown>): boolean =>
  cause.reasons.some((reason) => reason._tag === "Interrupt" && reason.annotations.has(HttpServerError.ClientAbort.key))

const unreadable = (reason: HttpServerError.RequestParseError): Response =>
  reason.reason === "BodyTooLarge"
    ? Failures.payloadTooLarge(new Request.PayloadTooLarge({}))
    : Failures.badRequest(Request.BadRequest.of([{ field: "body", message: "cannot be read" }]))

const ofError = (error: unknown): Response | undefined => {
  if (HttpServerResponse.isHttpServerResponse(error)) return error
  if (isUnavailable(error) || error instanceof Request.ServiceUnavailable)
    return Failures.serviceUnavailable(new Request.ServiceUnavailable({}))
  if (HttpServerError.isHttpServerError(error) && error.reason._tag === "RequestParseError") {
    return unreadable(error.reason)
  }
  return undefined
}

/** `undefined`: a defect, which is logged. */
const ofCause = (cause: Cause.Cause<unknown>): Response | undefined => {
  for (const reason of cause.reasons) {
    // The request took longer than its time limit.
    if (reason._tag === "Interrupt") return Failures.serviceUnavailable(new Request.ServiceUnavailable({}))
    const response = ofError(reason._tag === "Die" ? reason.defect : reason.error)
    if (response !== undefined) return response
  }
  return undefined
}

export const respond = (cause: Cause.Cause<unknown>, requestId: string): Effect.Effect<Response> => {
  if (isClientAbort(cause)) return Effect.interrupt
  const response = ofCause(cause)
  if (response !== undefined) return Effect.succeed(response)
  // The caller needs to know which row it is, so that it can be repaired.
  const changed = changedRowIn(cause)
  if (changed !== undefined) {
    return Effect.logWarning("request failed because a row cannot be verified").pipe(
      Effect.annotateLogs({ request_id: requestId, reason: changed.message }),
      Effect.as(Failures.internalServerError(new Request.InternalServerError({ error: changed.message })))
    )
  }
  return Effect.logError("request failed", cause).pipe(
    Effect.annotateLogs("request_id", requestId),
    Effect.as(Failures.internalServerError(new Request.InternalServerError({})))
  )
}

// Which methods each path has, for the `Allow` header of a 405 and of a response to `OPTIONS`.

const router = FindMyWay.make<true>({ ignoreTrailingSlash: true })
const methods = new Set<string>()

HttpApi.reflect(Api, {
  onGroup: () => undefined,
  onEndpoint: ({ endpoint }) => {
    methods.add(endpoint.method)
    router.on(endpoint.method, endpoint.path as `/${string}`, true)
  }
})

const documents = FindMyWay.make<true>({ ignoreTrailingSlash: true })
for (const path of ["/", "/favicon.ico", "/docs", "/openapi.json", "/openapi.yaml", "/relayers.schema.json"] as const)
  documents.on("GET", path, true)

/** Empty if no endpoint has this path. `docs`: whether the instance serves the documents. */
const allowedMethods = (url: string, docs: boolean): ReadonlyArray<string> => {
  const routers = docs ? [router, documents] : [router]
  const allowed = [...methods].filter((method) => routers.some((routes) => routes.find(method, url) !== undefined))
  if (allowed.length === 0) return []
  return [...allowed, ...(allowed.includes("GET") ? ["HEAD"] : []), "OPTIONS"].sort()
}

// Responses to requests that match no route. They count against the limits of their caller, or of their address.

const isResource = (url: string) => /^\/+api(\/|\?|$)/i.test(url)

/** 404, or 405 and 204 with `Allow`. Below `/api`, a caller without a valid key gets 401 and does not learn which routes exist. */
export const makeUnmatched = Effect.fnUntraced(function* ({ docs }: { readonly docs: boolean }) {
  const credentials = yield* makeCredentials
  const consume = yield* makeBuckets
  const strangers = yield* Strangers

  /** Below `/api`, the request takes a token from the caller's bucket. Other paths need no key. */
  const admit = Effect.gen(function* () {
    const token = yield* HttpApiBuilder.securityDecode(HttpApiSecurity.bearer)
    const { id } = yield* credentials.authenticate(token, undefined)
    yield* consume(id, yield* CurrentRequest)
  })

  const respond = Effect.gen(function* () {
    const { method, url } = yield* HttpServerRequest.HttpServerRequest
    yield* isResource(url) ? admit : strangers.admitUnmatched
    const allow = allowedMethods(url, docs)
    if (allow.length === 0) return Failures.notFound(new Request.NotFound({}))
    return method === "OPTIONS"
      ? HttpServerResponse.empty({ headers: { allow: allow.join(", ") } })
      : Failures.methodNotAllowed(new Request.MethodNotAllowed({ allow }))
  }).pipe(
    Effect.provideService(HttpServerRequest.ParsedSearchParams, {}),
    Effect.catchTags({
      Unauthorized: (error) => Effect.succeed(Failures.unauthorized(error)),
      TooManyRequests: (error) => Effect.succeed(Failures.tooManyRequests(error)),
      Forbidden: (error) => Effect.succeed(Failures.forbidden(error))
    })
  )
  return { respond }
})
