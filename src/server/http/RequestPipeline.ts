// What every request passes, whether or not a route matches: its id, its time limit, its metrics, CORS, compression, conditions.
import { Context, Effect, Layer, LogLevel, References } from "effect"
import type { Fiber, Types } from "effect"
import { Headers, HttpMiddleware, HttpPlatform, HttpRouter, HttpServerRequest, HttpServerResponse } from "effect/http"
import { randomUUID } from "node:crypto"
import { isKnownVersion } from "../../domain/request/Request.ts"
import { Draining } from "../lifecycle/Lifecycle.ts"
import { Strangers } from "../limits/Strangers.ts"
import { RunningVersion } from "../observability/Gauges.ts"
import * as Failures from "../responses/Failures.ts"
import { constantHeaders } from "../responses/Failures.ts"
import * as FailedRequests from "./FailedRequests.ts"
import { makeUnmatched } from "./FailedRequests.ts"
import { addressReader, CurrentRequest, makeRequestState, makeTrustedProxies } from "../responses/CurrentRequest.ts"
import type { RequestState, TrustedProxies } from "../responses/CurrentRequest.ts"
import { inFlightRequests, measureRequest } from "./MiddlewareHttp.ts"

// One request on its way through the pipeline: its id, its time and its place in the metrics.

type ExchangeRequest = HttpServerRequest.HttpServerRequest

interface Exchange {
  readonly request: ExchangeRequest
  readonly state: RequestState
  /** From a monotonic clock, in milliseconds. */
  readonly started: number
  /** The route of a router around this one, if a host program mounts it. */
  readonly mountedAt: HttpRouter.RouteContext["Service"] | undefined
  /** Pattern of the route that matched. */
  endpoint: string
}

const saneRequestId = /^[A-Za-z0-9._:-]{1,128}$/

/** The client's id, if a log can hold it as it is. */
const requestIdOf = (given: string | undefined) =>
  given !== undefined && saneRequestId.test(given) ? given : randomUUID()

const escapes: Readonly<Record<string, string>> = { ";": "%3B", "#": "%23" }

/**
 * `;` is an ordinary character of a path (RFC 3986, section 3.3), and `#` has no meaning in a target. The router ends the
 * path at both, so that it would take `/signers/a;b` for `/signers/a`. This escapes them.
 */
const withWholePath = (request: ExchangeRequest): ExchangeRequest => {
  const { url } = request
  if (!url.includes(";") && !url.includes("#")) return request
  return request.modify({
    url: url.replace(/^[^?]+/, (path) => path.replace(/[;#]/g, (char) => escapes[char] ?? char))
  })
}

/** The lists of transactions, of one relayer and of all. */
const transactionLists = /^\/+api\/v1\/(relayers\/[^/?]+\/)?transactions\/?\?/i

/** Consumers of the service that this one replaces write states of transactions in capitals: `?status=CONFIRMED`. */
const withStatesInLowerCase = (request: ExchangeRequest): ExchangeRequest => {
  const { url } = request
  if (!transactionLists.test(url)) return request
  return request.modify({ url: url.replace(/(?<=[?&]status=)[^&]*/g, (state) => state.toLowerCase()) })
}

const basicScheme = /^basic +/i

/** The path of calls to the node of a relayer. */
const nodeCalls = /^\/+api\/v1\/relayers\/[^/?]+\/rpc\/?(\?|$)/i

/** The password: everything after the first colon. The user name has no meaning. */
const passwordOf = (authorization: string): string =>
  /^[^:]*:([^]*)$/.exec(Buffer.from(authorization.replace(basicScheme, ""), "base64").toString())?.[1] ?? ""

/**
 * Lets a client of `/rpc` give its API key in the URL: as the password of HTTP Basic authentication (RFC 7617), because some
 * tools for Ethereum, such as `forge script`, cannot set a header. Puts the password in the place of the bearer token.
 */
const withBearerToken = (request: ExchangeRequest): ExchangeRequest => {
  const { authorization } = request.headers
  if (authorization === undefined || !basicScheme.test(authorization) || !nodeCalls.test(request.url)) return request
  return request.modify({
    headers: Headers.set(request.headers, "authorization", `Bearer ${passwordOf(authorization)}`)
  })
}

const beginExchange = (
  context: Context.Context<never>,
  clientAddressOf: (request: ExchangeRequest) => string | undefined
): Exchange => {
  const given = Context.getUnsafe(context, HttpServerRequest.HttpServerRequest)
  const request = withStatesInLowerCase(withBearerToken(withWholePath(given)))
  inFlightRequests.modifyUnsafe(1, context)
  return {
    request,
    state: makeRequestState(
      requestIdOf(request.headers["x-request-id"]),
      clientAddressOf(request),
      Context.get(context, References.CurrentLogAnnotations)
    ),
    started: performance.now(),
    mountedAt: Context.getOrUndefined(context, HttpRouter.RouteContext),
    endpoint: "unmatched"
  }
}

/** All in one step, and as little as possible: the more services a request adds, the sooner its context is copied. */
const provideExchange = (
  context: Context.Context<ExchangeRequest>,
  { request, state }: Exchange
): Context.Context<ExchangeRequest> => {
  const provided = Context.add(
    Context.add(context, CurrentRequest, state),
    References.CurrentLogAnnotations,
    state.annotations
  )
  return request === Context.get(context, HttpServerRequest.HttpServerRequest)
    ? provided
    : Context.add(provided, HttpServerRequest.HttpServerRequest, request)
}

/** Notes the route that the router has found. The router leaves it in the context of the fiber. */
const noteRoute = (exchange: Exchange, { context }: Fiber.Fiber<unknown, unknown>): void => {
  const found = Context.getOrUndefined(context, HttpRouter.RouteContext)
  if (found !== undefined && found !== exchange.mountedAt) exchange.endpoint = found.route.path
}

/** Milliseconds with one decimal. */
const rounded = (ms: number): number => Math.round(ms * 10) / 10

const logged = { atInfo: Effect.logInfo("request"), atDebug: Effect.logDebug("request") }

/** `status` is `aborted` if the client has disconnected. The line in the log has no query, which may contain data. */
const endExchange = (
  { state, request, started, endpoint }: Exchange,
  status: string,
  fiber: Fiber.Fiber<unknown, unknown>,
  level: "Info" | "Debug"
): Effect.Effect<void> => {
  const ms = performance.now() - started
  const { method } = request
  inFlightRequests.modifyUnsafe(-1, fiber.context)
  measureRequest({ endpoint, method, status }, ms / 1000, fiber.context)
  if (!LogLevel.isGreaterThanOrEqualTo(level, fiber.getRef(References.MinimumLogLevel))) return Effect.void
  return Effect.annotateLogs(level === "Info" ? logged.atInfo : logged.atDebug, {
    method,
    route: endpoint,
    status: status === "aborted" ? status : Number(status),
    ms: rounded(ms),
    ...(state.actor === undefined ? {} : { actor: state.actor }),
    ...(state.clientAddress === undefined ? {} : { client_address: state.clientAddress }),
    request_id: state.id
  })
}

// Time limits of requests. All of them have the same length, so that the oldest one ends first, and one timer of Node serves all.

const makeTimeLimits = (milliseconds: number) => {
  /** When each limit ends, the first one first. Milliseconds of a monotonic clock. */
  const ends = new Map<() => void, number>()
  let timer: ReturnType<typeof setTimeout> | undefined

  const check = () => {
    timer = undefined
    const now = performance.now()
    for (const [interrupt, end] of ends) {
      if (end > now) {
        // What was interrupted may have begun a limit anew.
        clearTimeout(timer)
        timer = setTimeout(check, Math.ceil(end - now))
        return
      }
      ends.delete(interrupt)
      interrupt()
    }
  }

  return {
    start: (interrupt: () => void): void => {
      ends.set(interrupt, performance.now() + milliseconds)
      timer ??= setTimeout(check, milliseconds)
    },
    stop: (interrupt: () => void): void => {
      ends.delete(interrupt)
      if (ends.size > 0) return
      clearTimeout(timer)
      timer = undefined
    }
  }
}

// Cross-origin requests of browsers, from the origins that the configuration allows.

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

type CorsRequest = HttpServerRequest.HttpServerRequest

/** A preflight has no credentials. The service answers it without them, within the limit of its address. */
const isPreflight = ({ headers, method }: CorsRequest): boolean =>
  method === "OPTIONS" && headers["origin"] !== undefined && headers["access-control-request-method"] !== undefined

/** Other `OPTIONS` requests are not preflights, and are answered to callers with a key. */
const isCrossOrigin = (request: CorsRequest): boolean =>
  request.headers["origin"] !== undefined && (request.method !== "OPTIONS" || isPreflight(request))

type App<E, R> = Effect.Effect<HttpServerResponse.HttpServerResponse, E, R>

const makeCors = (
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
  return <E, R>(self: App<E, R>): App<E, R | CorsRequest> => {
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

// Compression of responses for the clients that accept it.

type CompressedResponse = HttpServerResponse.HttpServerResponse

/** Bytes below which a response is sent as it is. */
const minCompressedSize = 1024

/** A stream of events is not held back for a compressor. */
const compressible = (contentType: string): boolean =>
  /^(text\/(?!event-stream)|application\/(json|yaml))/.test(contentType)

const compression = HttpMiddleware.compression({ algorithms: ["br", "gzip"], minSize: minCompressedSize, compressible })

/**
 * The entity tag of a compressed response is weak, and `If-Match` takes no weak tag. So a response with a strong tag, which
 * is a single resource, is sent as it is: `identity` is what the middleware leaves alone.
 */
const keepStrongTag = (response: CompressedResponse): CompressedResponse =>
  response.headers["etag"]?.startsWith('"')
    ? HttpServerResponse.setHeader(response, "content-encoding", "identity")
    : response

const makeCompression = Effect.map(
  HttpPlatform.HttpPlatform,
  (platform) =>
    <E, R>(self: Effect.Effect<CompressedResponse, E, R>) => {
      const compressed = Effect.provideService(
        compression(Effect.map(self, keepStrongTag)),
        HttpPlatform.HttpPlatform,
        platform
      )
      return Effect.withFiber<CompressedResponse, E, R | HttpServerRequest.HttpServerRequest>(({ context }) =>
        Context.getUnsafe(context, HttpServerRequest.HttpServerRequest).headers["accept-encoding"] === undefined
          ? self
          : compressed
      )
    }
)

// Conditional reads (RFC 9110, section 13.1.2): a client that has the current version gets 304 without a body.

type ConditionalResponse = HttpServerResponse.HttpServerResponse

/** What describes a body that is not sent. */
const headersOfBody = new Set(["content-type", "content-length"])

const withoutBody = ({ headers }: ConditionalResponse): ConditionalResponse =>
  HttpServerResponse.empty({
    status: 304,
    headers: Object.fromEntries(Object.entries(headers).filter(([name]) => !headersOfBody.has(name)))
  })

const respondConditionally = (
  { method, headers }: HttpServerRequest.HttpServerRequest,
  response: ConditionalResponse
): ConditionalResponse => {
  const known = headers["if-none-match"]
  const tag = response.headers["etag"]
  return known !== undefined &&
    tag !== undefined &&
    response.status === 200 &&
    (method === "GET" || method === "HEAD") &&
    isKnownVersion(known, tag)
    ? withoutBody(response)
    : response
}

type Request = HttpServerRequest.HttpServerRequest
type Response = HttpServerResponse.HttpServerResponse

export interface Options {
  /** Milliseconds after which a request is interrupted and answered with 503. */
  readonly requestTimeoutMs: number
  /** Largest request body, in bytes. */
  readonly maxBodyBytes: number
  /** Origins from which browsers may call, such as `https://console.example.com`. Absent: none. */
  readonly corsOrigins?: ReadonlyArray<string>
  /** False: `/`, `/docs` and `/openapi.*` are 404. Absent: they are served to everybody. */
  readonly docs?: boolean
  /** Proxies whose `X-Forwarded-For` names the client. Absent: none, so that the client is the sender of the request. */
  readonly trustedProxies?: TrustedProxies
  /** Whether each request is logged at the level info. Absent: at the level debug. */
  readonly accessLog?: boolean
  /** The response to a request that the server below the routes knows to be malformed. Absent: there is none. */
  readonly refusal?: (request: Request) => Response | undefined
}

const { "cache-control": noStore, ...always } = constantHeaders

const lastOfConnection = [["connection", "close"]] as const

const make = (options: Options) =>
  Effect.gen(function* () {
    const draining = yield* Draining
    // Pairs, because a response takes them with one copy less than a record.
    const fixed = Object.entries({ ...always, "x-relayer-version": yield* RunningVersion })
    const unmatched = yield* makeUnmatched({ docs: options.docs ?? true })
    const compress = yield* makeCompression
    const logLevel = options.accessLog === true ? "Info" : "Debug"
    const cors = makeCors(options.corsOrigins ?? [], yield* Strangers)
    const clientAddressOf = addressReader(options.trustedProxies ?? makeTrustedProxies([]))

    const limits = makeTimeLimits(options.requestTimeoutMs)

    const finish = (response: Response, { request, state }: Exchange): Response => {
      const complete = HttpServerResponse.setHeaders(response, [
        ...fixed,
        ["cache-control", response.headers["cache-control"] ?? noStore],
        ...state.headers,
        ...state.ownHeaders,
        ["x-request-id", state.id],
        ...(draining.isDraining() ? lastOfConnection : [])
      ])
      return respondConditionally(request, complete)
    }

    return (httpEffect: Effect.Effect<Response, Types.unhandled>) => {
      // The server runs requests uninterruptibly. The router makes only its routes interruptible.
      const handled = cors(
        Effect.catchCauseIf(httpEffect, FailedRequests.isRouteNotFound, () => Effect.interruptible(unmatched.respond))
      )
      const pipeline = Effect.withFiber<Response, Types.unhandled, Request>((fiber) => {
        const { context } = fiber
        const exchange = beginExchange(context, clientAddressOf)
        const interrupt = () => fiber.interruptUnsafe()
        const stop = () => limits.stop(interrupt)
        const restart = () => {
          stop()
          limits.start(interrupt)
        }
        limits.start(interrupt)
        exchange.state.timeLimit = { ms: options.requestTimeoutMs, stop, restart }
        const refusal = options.refusal?.(exchange.request)
        // What `updateContext` does, without a frame of its own: the last step puts the context back.
        fiber.setContext(provideExchange(context as Context.Context<Request>, exchange))

        return Effect.onExit(
          Effect.matchCauseEffect(refusal === undefined ? handled : Effect.succeed(refusal), {
            onSuccess: (response) => Effect.succeed(finish(response, exchange)),
            onFailure: (cause) =>
              Effect.map(FailedRequests.respond(cause, exchange.state.id), (response) => finish(response, exchange))
          }),
          (exit) => {
            noteRoute(exchange, fiber)
            fiber.setContext(context)
            stop()
            return endExchange(
              exchange,
              exit._tag === "Success" ? String(exit.value.status) : "aborted",
              fiber,
              logLevel
            )
          }
        )
      })
      return compress(pipeline)
    }
  })

export const layer = (options: Options) => HttpRouter.middleware(make(options), { global: true })

// Routers inside of a router, for routes whose pipeline must not answer for others.

/** A trailing slash is ignored, and a long id is a bad id, not an unknown route. */
export const ownRouterConfig = { ignoreTrailingSlash: true, maxParamLength: 16_384 } as const

/** The handler of all these routes. */
export const makeOwnRouter = <A, E, R>(routes: Layer.Layer<A, E, R>) =>
  Effect.gen(function* () {
    const router = yield* HttpRouter.make.pipe(Effect.provideService(HttpRouter.RouterConfig, ownRouterConfig))
    yield* Layer.build(Layer.provide(routes, Layer.succeed(HttpRouter.HttpRouter, router)))
    return router.asHttpEffect()
  })

/** For the route of the outer router that leads to the handler: a request that takes too long is interrupted and then answered. */
export const ownRoute = { uninterruptible: true } as const
