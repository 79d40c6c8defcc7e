// What every request passes, whether or not a route matches: its id, its time limit, its metrics, and responses to
// everything that fails outside of the endpoints.
import { Context, Effect, LogLevel, References } from "effect"
import type { Fiber, Types } from "effect"
import { HttpRouter, HttpServerRequest, HttpServerResponse } from "effect/http"
import { randomUUID } from "node:crypto"
import { Draining } from "../lifecycle/Draining.ts"
import * as Metrics from "./RequestMetrics.ts"
import { constantHeaders } from "../responses/ConstantHeaders.ts"
import * as CurrentRequest from "../responses/CurrentRequest.ts"
import * as FailedRequests from "./FailedRequests.ts"
import * as UnmatchedRequests from "./UnmatchedRequests.ts"

type Response = HttpServerResponse.HttpServerResponse

export interface Options {
  /** Milliseconds after which a request is interrupted and answered with 503. */
  readonly requestTimeoutMs: number
  /** Largest request body, in bytes. */
  readonly maxBodyBytes: number
  /** The response to a request that the server below the routes knows to be malformed. Absent: there is none. */
  readonly refusal?: (request: HttpServerRequest.HttpServerRequest) => Response | undefined
}

const saneRequestId = /^[A-Za-z0-9._:-]{1,128}$/

const requestIdOf = (given: string | undefined) =>
  given !== undefined && saneRequestId.test(given) ? given : randomUUID()

// Pairs, because a response takes them with one copy less than a record.
const always = Object.entries(constantHeaders)
const lastOfConnection = [["connection", "close"]] as const

/** One request on its way through the pipeline. */
interface Passage {
  readonly request: HttpServerRequest.HttpServerRequest
  readonly current: CurrentRequest.RequestState
  /** From a monotonic clock, in milliseconds. */
  readonly started: number
  /** Pattern of the route that matched. */
  endpoint: string
}

const enter = (context: Context.Context<never>): Passage => {
  const request = Context.getUnsafe(context, HttpServerRequest.HttpServerRequest)
  return {
    request,
    current: CurrentRequest.make(requestIdOf(request.headers["x-request-id"])),
    started: performance.now(),
    endpoint: "unmatched"
  }
}

/** In one step: each step on its own would copy the context of the server. */
const provide = (
  context: Context.Context<HttpServerRequest.HttpServerRequest>,
  { current }: Passage
): Context.Context<HttpServerRequest.HttpServerRequest> =>
  context.pipe(
    Context.add(CurrentRequest.CurrentRequest, current),
    Context.add(References.CurrentLogAnnotations, {
      ...Context.get(context, References.CurrentLogAnnotations),
      request_id: current.id
    })
  )

const record = (
  { current, request, started, endpoint }: Passage,
  status: string,
  fiber: Fiber.Fiber<unknown, unknown>
) => {
  const labels = { endpoint, method: request.method, status }
  Metrics.inFlightRequests.modifyUnsafe(-1, fiber.context)
  Metrics.recordRequest(labels, (performance.now() - started) / 1000, fiber.context)
  return LogLevel.isGreaterThanOrEqualTo("Debug", fiber.getRef(References.MinimumLogLevel))
    ? Effect.annotateLogs(Effect.logDebug("request"), { ...labels, request_id: current.id })
    : Effect.void
}

/** The pattern of the route that the router has found. The router leaves it in the context of the fiber. */
const routeOf = (fiber: Fiber.Fiber<unknown, unknown>): string | undefined =>
  Context.getOrUndefined(fiber.context, HttpRouter.RouteContext)?.route.path

const make = (options: Options) =>
  Effect.gen(function* () {
    const draining = yield* Draining
    const unmatched = yield* UnmatchedRequests.make

    const finish = (response: Response, { current }: Passage) =>
      HttpServerResponse.setHeaders(response, [
        ...always,
        ...current.headers,
        ...current.ownHeaders,
        ["x-request-id", current.id],
        ...(draining.isDraining() ? lastOfConnection : [])
      ])

    return (httpEffect: Effect.Effect<Response, Types.unhandled>) => {
      // The server runs requests uninterruptibly. The router makes only its routes interruptible.
      const handled = Effect.catchCauseIf(httpEffect, FailedRequests.isRouteNotFound, () =>
        Effect.interruptible(unmatched.respond)
      )
      return Effect.withFiber<Response, Types.unhandled, HttpServerRequest.HttpServerRequest>((fiber) => {
        const passage = enter(fiber.context)
        const timer = setTimeout(() => fiber.interruptUnsafe(), options.requestTimeoutMs)
        Metrics.inFlightRequests.modifyUnsafe(1, fiber.context)

        const refusal = options.refusal?.(passage.request)
        const answered =
          refusal === undefined
            ? Effect.onExit(handled, () => {
                passage.endpoint = routeOf(fiber) ?? passage.endpoint
                return Effect.void
              })
            : Effect.succeed(refusal)

        return Effect.updateContext(answered, (context: Context.Context<HttpServerRequest.HttpServerRequest>) =>
          provide(context, passage)
        ).pipe(
          Effect.catchCause((cause) => FailedRequests.respond(cause, passage.current.id)),
          Effect.map((response) => finish(response, passage)),
          Effect.onExit((exit) => {
            clearTimeout(timer)
            return record(passage, exit._tag === "Success" ? String(exit.value.status) : "aborted", fiber)
          })
        )
      })
    }
  })

export const layer = (options: Options) => HttpRouter.middleware(make(options), { global: true })
