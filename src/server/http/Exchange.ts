// One request on its way through the pipeline: its id, its time and its place in the metrics.
import { Context, Effect, LogLevel, References } from "effect"
import type { Fiber } from "effect"
import { Headers, HttpRouter, HttpServerRequest } from "effect/http"
import { randomUUID } from "node:crypto"
import { CurrentRequest, make } from "../responses/CurrentRequest.ts"
import type { RequestState } from "../responses/CurrentRequest.ts"
import * as RequestMetrics from "./RequestMetrics.ts"

type Request = HttpServerRequest.HttpServerRequest

export interface Exchange {
  readonly request: Request
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
const withWholePath = (request: Request): Request => {
  const { url } = request
  if (!url.includes(";") && !url.includes("#")) return request
  return request.modify({
    url: url.replace(/^[^?]+/, (path) => path.replace(/[;#]/g, (char) => escapes[char] ?? char))
  })
}

/** The lists of transactions, of one relayer and of all. */
const transactionLists = /^\/+api\/v1\/(relayers\/[^/?]+\/)?transactions\/?\?/i

/** Consumers of the service that this one replaces write states of transactions in capitals: `?status=CONFIRMED`. */
const withStatesInLowerCase = (request: Request): Request => {
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
const withBearerToken = (request: Request): Request => {
  const { authorization } = request.headers
  if (authorization === undefined || !basicScheme.test(authorization) || !nodeCalls.test(request.url)) return request
  return request.modify({
    headers: Headers.set(request.headers, "authorization", `Bearer ${passwordOf(authorization)}`)
  })
}

export const begin = (
  context: Context.Context<never>,
  clientAddressOf: (request: Request) => string | undefined
): Exchange => {
  const given = Context.getUnsafe(context, HttpServerRequest.HttpServerRequest)
  const request = withStatesInLowerCase(withBearerToken(withWholePath(given)))
  RequestMetrics.inFlightRequests.modifyUnsafe(1, context)
  return {
    request,
    state: make(requestIdOf(request.headers["x-request-id"]), clientAddressOf(request)),
    started: performance.now(),
    mountedAt: Context.getOrUndefined(context, HttpRouter.RouteContext),
    endpoint: "unmatched"
  }
}

/** All in one step, and as little as possible: the more services a request adds, the sooner its context is copied. */
export const provide = (context: Context.Context<Request>, { request, state }: Exchange): Context.Context<Request> => {
  const annotations = { ...Context.get(context, References.CurrentLogAnnotations), request_id: state.id }
  const provided = context.pipe(
    Context.add(CurrentRequest, state),
    Context.add(References.CurrentLogAnnotations, annotations)
  )
  return request === Context.get(context, HttpServerRequest.HttpServerRequest)
    ? provided
    : Context.add(provided, HttpServerRequest.HttpServerRequest, request)
}

/** Notes the route that the router has found. The router leaves it in the context of the fiber. */
export const noteRoute = (exchange: Exchange, { context }: Fiber.Fiber<unknown, unknown>): void => {
  const found = Context.getOrUndefined(context, HttpRouter.RouteContext)
  if (found !== undefined && found !== exchange.mountedAt) exchange.endpoint = found.route.path
}

/** Milliseconds with one decimal. */
const rounded = (ms: number): number => Math.round(ms * 10) / 10

/** `status` is `aborted` if the client has disconnected. The line in the log has no query, which may contain data. */
export const end = (
  { state, request, started, endpoint }: Exchange,
  status: string,
  fiber: Fiber.Fiber<unknown, unknown>,
  level: "Info" | "Debug"
): Effect.Effect<void> => {
  const ms = performance.now() - started
  const { method } = request
  RequestMetrics.inFlightRequests.modifyUnsafe(-1, fiber.context)
  RequestMetrics.recordRequest({ endpoint, method, status }, ms / 1000, fiber.context)
  if (!LogLevel.isGreaterThanOrEqualTo(level, fiber.getRef(References.MinimumLogLevel))) return Effect.void
  const line = level === "Info" ? Effect.logInfo("request") : Effect.logDebug("request")
  return Effect.annotateLogs(line, {
    method,
    route: endpoint,
    status: status === "aborted" ? status : Number(status),
    ms: rounded(ms),
    ...(state.actor === undefined ? {} : { actor: state.actor }),
    ...(state.clientAddress === undefined ? {} : { client_address: state.clientAddress }),
    request_id: state.id
  })
}
