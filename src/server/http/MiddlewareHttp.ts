// Implements the middleware of the contract: the steps of every request to an endpoint before its handler.
import { ByteSize, Clock, Context, Effect, Layer, Metric, Redacted, Schema } from "effect"
import { HttpIncomingMessage, HttpRouter, HttpServerRequest, HttpServerResponse } from "effect/http"
import type { HttpServerError } from "effect/http"
import { HttpApiMiddleware } from "effect/http-api"
import type { HttpApiEndpoint } from "effect/http-api"
import { createHash, timingSafeEqual } from "node:crypto"
import { bodyLimitOf, isForEveryCaller, scopeOf } from "../../api/Endpoint.ts"
import type { BodySize } from "../../api/Endpoint.ts"
import { Authorization, DecodeErrors, Idempotency, MetricsAccess, RequestBody } from "../../api/Middleware.ts"
import { CurrentCaller, Unauthorized } from "../../domain/access/Caller.ts"
import type { Caller } from "../../domain/access/Caller.ts"
import {
  BadRequest,
  IdempotencyKey,
  PayloadTooLarge,
  ServiceUnavailable,
  UnsupportedMediaType
} from "../../domain/request/Request.ts"
import { Authentication, bearerToken } from "../authentication/Authentication.ts"
import type { Use } from "../authentication/Authentication.ts"
import { IdempotencyStore } from "../idempotency/IdempotencyStore.ts"
import type { StoredResponse } from "../idempotency/IdempotencyStore.ts"
import { SchemaWatch } from "../lifecycle/Lifecycle.ts"
import * as RateLimitMetrics from "../limits/RateLimitMetrics.ts"
import { CallerRequests, rateLimitHeaders, RateLimits } from "../limits/RateLimits.ts"
import { Strangers } from "../limits/Strangers.ts"
import { CurrentRequest } from "../responses/CurrentRequest.ts"
import type { RequestState } from "../responses/CurrentRequest.ts"
import { recordRequest } from "../responses/Respond.ts"

// The metrics of requests. Labels are bounded: route patterns, methods and status codes.

const requestsTotal = Metric.counter("requests_total", {
  description: "Requests that got a response, by route pattern, method and status.",
  incremental: true
})

const requestLatencySeconds = Metric.histogram("request_latency_seconds", {
  description: "Time from a request to its response, in seconds.",
  boundaries: [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30]
})

export const inFlightRequests = Metric.gauge("in_flight_requests", { description: "Requests that are being served." })

const unauthorizedRequestsTotal = Metric.counter("unauthorized_requests_total", {
  description: "Requests refused with 401.",
  incremental: true
})

export const requestMetrics = [requestsTotal, requestLatencySeconds, inFlightRequests, unauthorizedRequestsTotal]

interface Labels {
  readonly endpoint: string
  readonly method: string
  readonly status: string
}

const perRoute = new Map<
  string,
  { readonly count: Metric.Counter<number>; readonly latency: Metric.Histogram<number> }
>()

/** `endpoint` is a route pattern or `unmatched`: the number of series is bounded. */
export const measureRequest = (labels: Labels, seconds: number, context: Context.Context<never>): void => {
  const key = `${labels.method} ${labels.endpoint} ${labels.status}`
  let metrics = perRoute.get(key)
  if (metrics === undefined) {
    metrics = {
      count: Metric.withAttributes(requestsTotal, { ...labels }) as Metric.Counter<number>,
      latency: Metric.withAttributes(requestLatencySeconds, { ...labels }) as Metric.Histogram<number>
    }
    perRoute.set(key, metrics)
  }
  metrics.count.updateUnsafe(1, context)
  metrics.latency.updateUnsafe(seconds, context)
}

/**
 * Authenticates requests and counts the ones that are refused. A refusal says that there was a token (RFC 6750, section 3.1). An
 * empty token stands for none.
 */
export const makeCredentials = Effect.map(Effect.all([Authentication, Strangers]), ([{ authenticate }, strangers]) => ({
  authenticate: (token: Redacted.Redacted, use: Use | undefined) =>
    authenticate(token, use).pipe(
      Effect.catchTag("Unauthorized", () =>
        Effect.andThen(
          Metric.update(unauthorizedRequestsTotal, 1),
          strangers.refuse(new Unauthorized(Redacted.value(token) === "" ? {} : { reason: "invalid_token" }))
        )
      )
    )
}))

/** Takes one token from the caller's bucket. Each response, whatever its status, says how many tokens are left. */
export const makeBuckets = Effect.map(RateLimits, (limits) => {
  const headersOf = rateLimitHeaders(limits.options)
  return (callerId: string, current: RequestState | undefined) => {
    const show = (allowance: Parameters<typeof headersOf>[0]) => {
      for (const [name, value] of headersOf(allowance)) current?.ownHeaders.set(name, value)
    }
    return limits.consume(callerId).pipe(
      Effect.tapError(({ retryAfter }) => Effect.sync(() => show({ remaining: 0, resetSeconds: retryAfter }))),
      Effect.map(show)
    )
  }
})

/** What the caller does is logged with its id. A request that did not pass the pipeline has no annotations of its own. */
const callAs = <A, E, R>(caller: Caller, current: RequestState | undefined, handled: Effect.Effect<A, E, R>) => {
  const called = Effect.provideService(handled, CurrentCaller, caller)
  if (current === undefined) return Effect.annotateLogs(called, "actor", caller.id)
  current.actor = caller.id
  current.annotations["actor"] = caller.id
  return called
}

/** What an endpoint says of each of its uses. */
const useOf = (group: string, endpoint: HttpApiEndpoint.Top): Omit<Use, "relayerId" | "from"> | undefined =>
  isForEveryCaller(endpoint)
    ? undefined
    : {
        group,
        endpoint: endpoint.identifier,
        method: endpoint.method,
        route: endpoint.path,
        scope: scopeOf(endpoint)
      }

/** The same, made once for each endpoint. */
const makeUses = () => {
  const made = new Map<HttpApiEndpoint.Top, ReturnType<typeof useOf>>()
  return (group: string, endpoint: HttpApiEndpoint.Top) => {
    if (!made.has(endpoint)) made.set(endpoint, useOf(group, endpoint))
    return made.get(endpoint)
  }
}

export const AuthorizationHttp = Layer.effect(
  Authorization,
  Effect.gen(function* () {
    const credentials = yield* makeCredentials
    const consume = yield* makeBuckets
    const requests = yield* CallerRequests
    const schema = yield* SchemaWatch
    // A counter is shown as 0 before its first event.
    const { rateLimitedRequestsTotal, rateLimitStoreFailuresTotal, strangersRefusedTotal } = RateLimitMetrics
    for (const counter of [
      rateLimitedRequestsTotal,
      rateLimitStoreFailuresTotal,
      strangersRefusedTotal,
      unauthorizedRequestsTotal
    ]) {
      yield* Metric.update(counter, 0)
    }

    const useOf = makeUses()

    const refuseOutdated = Effect.flatMap(schema.isOutdated, (isOutdated) =>
      isOutdated ? Effect.die(new ServiceUnavailable({})) : Effect.void
    )

    return Authorization.of({
      bearer: (httpEffect, { credential, endpoint, group }) =>
        Effect.withFiber(({ context }) => {
          const { headers } = Context.getUnsafe(context, HttpServerRequest.HttpServerRequest)
          const { params } = Context.getUnsafe(context, HttpRouter.RouteContext)
          const current = Context.get(context, CurrentRequest)
          const name = `${group.identifier}.${endpoint.identifier}`
          const handled = headers["x-relayer-debug"] === "true" ? recordRequest(httpEffect, name) : httpEffect
          const made = useOf(group.identifier, endpoint)
          const use = made && { ...made, relayerId: params.relayer_id, from: current?.clientAddress }
          return Effect.andThen(refuseOutdated, credentials.authenticate(credential, use)).pipe(
            Effect.tapErrorTag("Forbidden", ({ callerId }) =>
              callerId === undefined ? Effect.void : consume(callerId, current)
            ),
            Effect.flatMap((caller) => {
              const called = callAs(caller, current, requests.admit(caller, handled))
              return Effect.andThen(consume(caller.id, current), called)
            })
          )
        })
    })
  })
)

// Implements `RequestBody` and `DecodeErrors`: checks a body before it is decoded, and says what is wrong with a request, field by
// field.

type Request = HttpServerRequest.HttpServerRequest

/** A body without `Content-Type` counts as JSON. */
const mediaTypeOf = ({ headers }: Request): string =>
  (headers["content-type"] ?? "application/json").split(";", 1).join().trim().toLowerCase()

const isEncoded = ({ headers }: Request): boolean => !/^(\s*identity\s*)?$/i.test(headers["content-encoding"] ?? "")

/** What is expected of the header that the endpoint does not support. */
const unsupported = (request: Request, accept: ReadonlyArray<string>): string | undefined => {
  if (isEncoded(request)) return "content-encoding: Expected no encoding"
  return accept.includes(mediaTypeOf(request)) ? undefined : `content-type: Expected ${accept.join(" or ")}`
}

const refuse = (message: string) => BadRequest.of([{ field: "body", message }])

const unreadable = ({ reason }: HttpServerError.HttpServerError): PayloadTooLarge | BadRequest =>
  reason._tag === "RequestParseError" && reason.reason === "BodyTooLarge"
    ? new PayloadTooLarge({})
    : refuse("cannot be read")

/**
 * Members of objects and elements of lists in a body: more than any resource has. The time of decoding grows with their
 * number, not with the bytes.
 */
const maxValues = 10_000

/**
 * Levels of objects and lists in a body. A value of a contract has the most: 32 levels, of a few levels of JSON each. `JSON.parse` takes a tenth
 * of a second for 1 MiB of nested lists, in one piece.
 */
const maxLevels = 256

const [quote, backslash, comma] = [0x22, 0x5c, 0x2c]
const [list, listEnd, object, objectEnd] = [0x5b, 0x5d, 0x7b, 0x7d]

/** What JSON has more of than a body may have, outside of strings: commas, or levels of objects and lists. */
const excessOf = (bytes: Uint8Array, maxValues: number): string | undefined => {
  if (bytes.length <= maxLevels) return undefined
  let isString = false
  let count = 0
  let levels = 0
  for (let at = 0; at < bytes.length; at++) {
    const byte = bytes[at]
    if (byte === quote) isString = !isString
    else if (isString) at += byte === backslash ? 1 : 0
    else if (byte === comma) count += 1
    else if (byte === list || byte === object) levels += 1
    else if (byte === listEnd || byte === objectEnd) levels -= 1
    if (count >= maxValues) return `${maxValues} members and elements`
    if (levels > maxLevels) return `${maxLevels} levels of objects and lists`
  }
  return undefined
}

const strict = new TextDecoder("utf-8", { fatal: true })

const checkUtf8 = (bytes: ArrayBuffer) =>
  Effect.try({ try: () => strict.decode(bytes), catch: () => refuse("Expected UTF-8") })

/** Nanoseconds after which a body is late. A client can take half of the time limit of a request to send it. */
const late = 1_000_000_000n

export const RequestBodyHttp = Layer.effect(
  RequestBody,
  Effect.gen(function* () {
    const usualLimit = Number((yield* HttpIncomingMessage.MaxBodySize) ?? Infinity)
    const { authenticate } = yield* Authentication

    /**
     * A key that was revoked or has expired since the head of the request arrived does nothing more. Only endpoints that need no key get
     * here without one.
     */
    const checkKey = Effect.flatMap(bearerToken, (token) =>
      Redacted.value(token) === "" ? Effect.void : authenticate(token, undefined)
    ).pipe(Effect.mapError(() => new Unauthorized({ reason: "invalid_token" })))

    const check = Effect.fnUntraced(function* (request: Request, accept: ReadonlyArray<string>, large?: BodySize) {
      const limit = Math.max(usualLimit, large?.bytes ?? 0)
      const values = large?.values ?? maxValues
      // Before the body is read, and so before `100 Continue` asks a client for it.
      if (Number(request.headers["content-length"] ?? 0) > limit) return yield* new PayloadTooLarge({})
      const error = unsupported(request, accept)
      if (error !== undefined) return yield* new UnsupportedMediaType({ accept, error })
      const startedAt = yield* Clock.monotonicTimeNanos
      const bytes = yield* request.arrayBuffer.pipe(
        Effect.provideService(HttpIncomingMessage.MaxBodySize, ByteSize.bytes(limit)),
        Effect.mapError(unreadable)
      )
      if ((yield* Clock.monotonicTimeNanos) - startedAt >= late) yield* checkKey
      yield* checkUtf8(bytes)
      const excess = excessOf(new Uint8Array(bytes), values)
      if (excess !== undefined) return yield* refuse(`Expected at most ${excess}`)
    })

    return RequestBody.of((httpEffect, { endpoint }) => {
      const accept = [...endpoint.payload.keys()]
      return Effect.flatMap(HttpServerRequest.HttpServerRequest, (request) =>
        Effect.andThen(check(request, accept, bodyLimitOf(endpoint)), httpEffect)
      )
    })
  })
)

/** The parts of a request that are decoded, as an `error` names them. */
const parts: Record<string, string> = { Params: "path", Query: "query", Headers: "headers", Payload: "body" }

export const DecodeErrorsHttp = HttpApiMiddleware.layerSchemaErrorTransform(DecodeErrors, (error) => {
  const part = parts[error.kind]
  // A response that does not encode is a defect of the service.
  return part === undefined ? Effect.die(error) : Effect.fail(BadRequest.fromIssue(error.cause.issue, part))
})

// Implements `MetricsAccess`: the limit of the address, and the token of the metrics if there is one.

const sha256 = (token: Redacted.Redacted) => createHash("sha256").update(Redacted.value(token)).digest()

/** `token` absent: everybody may read the metrics. */
export const layerMetricsAccess = (token: Redacted.Redacted | undefined) =>
  Layer.effect(
    MetricsAccess,
    Effect.gen(function* () {
      const strangers = yield* Strangers
      const expected = token === undefined ? undefined : sha256(token)

      const checkToken = Effect.gen(function* () {
        if (expected === undefined) return
        const given = yield* bearerToken
        if (timingSafeEqual(sha256(given), expected)) return
        return yield* strangers.refuse(
          new Unauthorized(Redacted.value(given) === "" ? {} : { reason: "invalid_token" })
        )
      })

      return MetricsAccess.of((httpEffect) =>
        strangers.admit.pipe(Effect.andThen(checkToken), Effect.andThen(httpEffect))
      )
    })
  )

// The implementation of `Idempotency`.

const isKey = Schema.is(IdempotencyKey)

const malformed = BadRequest.of([{ field: "Idempotency-Key", message: "Expected 1 to 255 visible ASCII characters" }])

const bodyOf = ({ body }: HttpServerResponse.HttpServerResponse): string =>
  body._tag === "Uint8Array" ? new TextDecoder().decode(body.body) : ""

/** Only a success has taken effect. */
const toStore = (response: HttpServerResponse.HttpServerResponse) =>
  Effect.map(CurrentRequest, (current): StoredResponse | undefined =>
    response.status >= 200 && response.status < 300
      ? { status: response.status, headers: Object.fromEntries(current?.headers ?? []), body: bodyOf(response) }
      : undefined
  )

const replay = ({ status, headers, body }: StoredResponse) =>
  Effect.map(CurrentRequest, (current) => {
    for (const [name, value] of Object.entries(headers)) current?.headers.set(name, value)
    current?.ownHeaders.set("idempotency-replayed", "true")
    return HttpServerResponse.text(body, { status, contentType: "application/json" })
  })

export const IdempotencyHttp = Layer.effect(
  Idempotency,
  Effect.gen(function* () {
    const store = yield* IdempotencyStore
    return Idempotency.of(
      Effect.fnUntraced(function* (httpEffect) {
        const request = yield* HttpServerRequest.HttpServerRequest
        const key = request.headers["idempotency-key"]
        if (key === undefined) return yield* httpEffect
        if (!isKey(key)) return yield* malformed
        const { id: callerId } = yield* CurrentCaller
        const body = yield* Effect.orDie(request.text)
        const { method, url } = request
        const outcome = yield* store.once({ callerId, key, method, url, body }, httpEffect, toStore)
        return outcome._tag === "Stored" ? yield* replay(outcome.response) : outcome.result
      })
    )
  })
)
