// Implements `Authorization`: the steps of every request to a resource before it is decoded.
import { Context, Effect, Layer, Metric, Redacted } from "effect"
import { HttpRouter, HttpServerRequest } from "effect/http"
import { Authorization } from "../../api/Middleware.ts"
import { isForEveryCaller, scopeOf } from "../../api/Scopes.ts"
import { CurrentCaller, Unauthorized } from "../../domain/access/Caller.ts"
import type { Caller } from "../../domain/access/Caller.ts"
import { ServiceUnavailable } from "../../domain/request/Request.ts"
import { Authentication } from "../authentication/Authentication.ts"
import type { Use } from "../authentication/Authentication.ts"
import { CallerRequests } from "../limits/CallerRequests.ts"
import { SchemaWatch } from "../lifecycle/SchemaWatch.ts"
import * as RateLimitMetrics from "../limits/RateLimitMetrics.ts"
import { RateLimits, rateLimitHeaders } from "../limits/RateLimits.ts"
import { Strangers } from "../limits/Strangers.ts"
import * as Recording from "../responses/Recording.ts"
import { CurrentRequest } from "../responses/CurrentRequest.ts"
import type { RequestState } from "../responses/CurrentRequest.ts"
import { unauthorizedRequestsTotal } from "./RequestMetrics.ts"

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

/** What the caller does is logged with its id. */
const callAs = <A, E, R>(caller: Caller, handled: Effect.Effect<A, E, R>) =>
  Effect.annotateLogs(Effect.provideService(handled, CurrentCaller, caller), "actor", caller.id)

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
          const handled = headers["x-relayer-debug"] === "true" ? Recording.record(httpEffect, name) : httpEffect
          const use = isForEveryCaller(endpoint)
            ? undefined
            : {
                group: group.identifier,
                endpoint: endpoint.identifier,
                method: endpoint.method,
                route: endpoint.path,
                scope: scopeOf(endpoint),
                relayerId: params.relayer_id,
                from: current?.clientAddress
              }
          return Effect.andThen(refuseOutdated, credentials.authenticate(credential, use)).pipe(
            Effect.tapErrorTag("Forbidden", ({ callerId }) =>
              callerId === undefined ? Effect.void : consume(callerId, current)
            ),
            Effect.flatMap((caller) => {
              if (current !== undefined) current.actor = caller.id
              return Effect.andThen(consume(caller.id, current), callAs(caller, requests.admit(caller, handled)))
            })
          )
        })
    })
  })
)
