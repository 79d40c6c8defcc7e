// What surrounds every request, known route or not: its id, its limits, its numbers, and an envelope for whatever goes
// wrong outside of the endpoints.
import { ByteSize, Context, Effect, LogLevel, Metric, References } from "effect"
import type { Cause, Fiber, Types } from "effect"
import { HttpIncomingMessage, HttpRouter, HttpServerError, HttpServerRequest, HttpServerResponse } from "effect/http"
import { HttpApiBuilder, HttpApiSecurity } from "effect/http-api"
import { randomUUID } from "node:crypto"
import * as Request from "../../domain/request/Request.ts"
import { isUnavailable } from "../../sql/Unavailable.ts"
import { Authentication } from "../authentication/Authentication.ts"
import { constantHeaders } from "../responses/ConstantHeaders.ts"
import { Draining } from "../lifecycle/Draining.ts"
import * as Failures from "../responses/Failures.ts"
import * as Metrics from "../observability/Metrics.ts"
import { CurrentRequestId } from "../responses/RequestId.ts"
import { CurrentResponseHeaders } from "../responses/ResponseHeaders.ts"
import { allowedMethods } from "./Routes.ts"

type Response = HttpServerResponse.HttpServerResponse

export interface Options {
  /** Milliseconds after which a request is given up with 503. */
  readonly requestTimeoutMs: number
  /** Bytes of a request body. */
  readonly maxBodyBytes: number
  /** The answer to what the server under the routes knows to be no request. Absent: all are. */
  readonly refusal?: (request: HttpServerRequest.HttpServerRequest) => Response | undefined
}

const saneRequestId = /^[A-Za-z0-9._:-]{1,128}$/

const requestId = (given: string | undefined) =>
  given !== undefined && saneRequestId.test(given) ? given : randomUUID()

const isResource = (url: string) => /^\/+api(\/|\?|$)/i.test(url)

const routeNotFound = (cause: Cause.Cause<unknown>) =>
  cause.reasons.some(
    (reason) =>
      reason._tag === "Fail" &&
      HttpServerError.isHttpServerError(reason.error) &&
      reason.error.reason._tag === "RouteNotFound"
  )

const isClientAbort = (cause: Cause.Cause<unknown>) =>
  cause.reasons.some((reason) => reason._tag === "Interrupt" && reason.annotations.has(HttpServerError.ClientAbort.key))

/** The answer to what no endpoint has answered; undefined where it has to be told to the operator. */
const expected = (cause: Cause.Cause<unknown>): Response | undefined => {
  for (const reason of cause.reasons) {
    if (reason._tag === "Interrupt") return Failures.serviceUnavailable(new Request.ServiceUnavailable({}))
    const error = reason._tag === "Die" ? reason.defect : reason.error
    if (HttpServerResponse.isHttpServerResponse(error)) return error
    if (isUnavailable(error)) return Failures.serviceUnavailable(new Request.ServiceUnavailable({}))
    if (HttpServerError.isHttpServerError(error) && error.reason._tag === "RequestParseError") {
      return error.reason.reason === "BodyTooLarge"
        ? Failures.payloadTooLarge(new Request.PayloadTooLarge({}))
        : Failures.badRequest(Request.BadRequest.of([{ field: "body", message: "cannot be read" }]))
    }
  }
  return undefined
}

/** `HttpApiBuilder` answers a content type that it does not know with a text of its own. */
const enveloped = (response: Response): Response =>
  response.status === unsupportedMediaType.status && response.headers["content-type"]?.startsWith("text/plain")
    ? unsupportedMediaType
    : response

const unsupportedMediaType = Failures.unsupportedMediaType(new Request.UnsupportedMediaType({}))

// As pairs, which go into an answer with one copy less than a record.
const always = Object.entries(constantHeaders)
const lastAnswer = [["connection", "close"]] as const

const make = (options: Options) =>
  Effect.gen(function* () {
    const authentication = yield* Authentication
    const draining = yield* Draining
    const maxBodySize = ByteSize.bytes(options.maxBodyBytes)

    /** A stranger is not told which routes there are. */
    const unmatched = Effect.gen(function* () {
      const request = yield* HttpServerRequest.HttpServerRequest
      if (isResource(request.url)) {
        const token = yield* HttpApiBuilder.securityDecode(HttpApiSecurity.bearer)
        yield* authentication.authenticate(token, undefined)
      }
      const allow = allowedMethods(request.url)
      return allow.length === 0
        ? Failures.notFound(new Request.NotFound({}))
        : Failures.methodNotAllowed(new Request.MethodNotAllowed({ allow }))
    }).pipe(
      Effect.provideService(HttpServerRequest.ParsedSearchParams, {}),
      Effect.catchTags({
        Unauthorized: (error) =>
          Effect.as(Metric.update(Metrics.unauthorizedRequestsTotal, 1), Failures.unauthorized(error)),
        Forbidden: (error) => Effect.succeed(Failures.forbidden(error))
      })
    )

    const failed = (cause: Cause.Cause<unknown>, id: string) => {
      const response = expected(cause)
      if (response !== undefined) return Effect.succeed(response)
      return Effect.logError("request failed", cause).pipe(
        Effect.annotateLogs("request_id", id),
        Effect.as(Failures.internalServerError(new Request.InternalServerError({})))
      )
    }

    const finished = (response: Response, id: string, headers: ReadonlyMap<string, string>) =>
      HttpServerResponse.setHeaders(enveloped(response), [
        ...always,
        ...headers,
        ["x-request-id", id],
        ...(draining.isDraining() ? lastAnswer : [])
      ])

    return (httpEffect: Effect.Effect<Response, Types.unhandled>) =>
      Effect.withFiber<Response, Types.unhandled, HttpServerRequest.HttpServerRequest>((fiber) => {
        const request = Context.getUnsafe(fiber.context, HttpServerRequest.HttpServerRequest)
        const id = requestId(request.headers["x-request-id"])
        const started = performance.now()
        const timer = setTimeout(() => fiber.interruptUnsafe(), options.requestTimeoutMs)
        Metrics.inFlightRequests.modifyUnsafe(1, fiber.context)

        const headers = new Map<string, string>()

        let endpoint = "unmatched"
        const routed = Effect.onExit(httpEffect, () => Effect.sync(() => (endpoint = routeOf(fiber) ?? endpoint))).pipe(
          Effect.catchCauseIf(routeNotFound, () => unmatched),
          Effect.provideService(HttpIncomingMessage.MaxBodySize, maxBodySize),
          Effect.provideService(CurrentRequestId, id),
          Effect.provideService(CurrentResponseHeaders, headers),
          Effect.annotateLogs("request_id", id)
        )
        const refusal = options.refusal?.(request)

        // The server runs requests uninterruptibly. Only the router makes them interruptible.
        return (refusal === undefined ? Effect.interruptible(routed) : Effect.succeed(refusal)).pipe(
          Effect.catchCause((cause) => (isClientAbort(cause) ? Effect.interrupt : failed(cause, id))),
          Effect.map((response) => finished(response, id, headers)),
          Effect.onExit((exit) =>
            Effect.suspend(() => {
              clearTimeout(timer)
              const status = exit._tag === "Success" ? String(exit.value.status) : "aborted"
              const labels = { endpoint, method: request.method, status }
              Metrics.inFlightRequests.modifyUnsafe(-1, fiber.context)
              Metrics.recordRequest(labels, (performance.now() - started) / 1000, fiber.context)
              return isHeard(fiber, "Debug")
                ? Effect.annotateLogs(Effect.logDebug("request", labels), "request_id", id)
                : Effect.void
            })
          )
        )
      })
  })

const isHeard = (fiber: Fiber.Fiber<unknown, unknown>, level: LogLevel.LogLevel): boolean =>
  LogLevel.isGreaterThanOrEqualTo(level, fiber.getRef(References.MinimumLogLevel))

/** The pattern of the route that the router has found; it leaves it in the request's context. */
const routeOf = (fiber: Fiber.Fiber<unknown, unknown>): string | undefined =>
  Context.getOrUndefined(fiber.context, HttpRouter.RouteContext)?.route.path

export const layer = (options: Options) => HttpRouter.middleware(make(options), { global: true })
