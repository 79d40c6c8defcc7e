// What every request passes, whether or not a route matches: its id, its time limit, its metrics, and responses to
// everything that fails outside of the endpoints.
import { Effect } from "effect"
import type { Context, Types } from "effect"
import { HttpRouter, HttpServerResponse } from "effect/http"
import type { HttpServerRequest } from "effect/http"
import { Draining } from "../lifecycle/Draining.ts"
import * as ClientAddress from "../responses/ClientAddress.ts"
import { Strangers } from "../limits/Strangers.ts"
import { RunningVersion } from "../observability/RunningVersion.ts"
import { constantHeaders } from "../responses/ConstantHeaders.ts"
import * as Compression from "./Compression.ts"
import * as Conditional from "./Conditional.ts"
import * as Cors from "./Cors.ts"
import * as Exchange from "./Exchange.ts"
import * as FailedRequests from "./FailedRequests.ts"
import * as UnmatchedRequests from "./UnmatchedRequests.ts"

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
  readonly trustedProxies?: ClientAddress.TrustedProxies
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
    const unmatched = yield* UnmatchedRequests.make({ docs: options.docs ?? true })
    const compress = yield* Compression.make
    const logLevel = options.accessLog === true ? "Info" : "Debug"
    const cors = Cors.make(options.corsOrigins ?? [], yield* Strangers)
    const clientAddressOf = ClientAddress.reader(options.trustedProxies ?? ClientAddress.trustedProxies([]))

    const finish = (response: Response, { request, state }: Exchange.Exchange): Response => {
      const complete = HttpServerResponse.setHeaders(response, [
        ...fixed,
        ["cache-control", response.headers["cache-control"] ?? noStore],
        ...state.headers,
        ...state.ownHeaders,
        ["x-request-id", state.id],
        ...(draining.isDraining() ? lastOfConnection : [])
      ])
      return Conditional.respond(request, complete)
    }

    return (httpEffect: Effect.Effect<Response, Types.unhandled>) => {
      // The server runs requests uninterruptibly. The router makes only its routes interruptible.
      const handled = cors(
        Effect.catchCauseIf(httpEffect, FailedRequests.isRouteNotFound, () => Effect.interruptible(unmatched.respond))
      )
      const pipeline = Effect.withFiber<Response, Types.unhandled, Request>((fiber) => {
        const exchange = Exchange.begin(fiber.context, clientAddressOf)
        const startTimer = () => setTimeout(() => fiber.interruptUnsafe(), options.requestTimeoutMs)
        let timer = startTimer()
        const stop = () => clearTimeout(timer)
        const restart = () => {
          stop()
          timer = startTimer()
        }
        exchange.state.timeLimit = { ms: options.requestTimeoutMs, stop, restart }
        const refusal = options.refusal?.(exchange.request)
        const answered =
          refusal === undefined
            ? Effect.onExit(handled, () => Effect.sync(() => Exchange.noteRoute(exchange, fiber)))
            : Effect.succeed(refusal)

        return Effect.updateContext(answered, (context: Context.Context<Request>) =>
          Exchange.provide(context, exchange)
        ).pipe(
          Effect.catchCause((cause) => FailedRequests.respond(cause, exchange.state.id)),
          Effect.map((response) => finish(response, exchange)),
          Effect.onExit((exit) => {
            stop()
            return Exchange.end(
              exchange,
              exit._tag === "Success" ? String(exit.value.status) : "aborted",
              fiber,
              logLevel
            )
          })
        )
      })
      return compress(pipeline)
    }
  })

export const layer = (options: Options) => HttpRouter.middleware(make(options), { global: true })
