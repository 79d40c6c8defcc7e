// The implementation of `Authorization`.
import { Effect, Layer, Metric, Option } from "effect"
import { HttpRouter, HttpServerRequest } from "effect/http"
import { Authorization } from "../../api/Middleware.ts"
import { scopeOf } from "../../api/Scopes.ts"
import { CurrentCaller } from "../../domain/access/Caller.ts"
import { unauthorizedRequestsTotal } from "../observability/Metrics.ts"
import { Authentication } from "../authentication/Authentication.ts"

export const AuthorizationHttp = Layer.effect(
  Authorization,
  Effect.gen(function* () {
    const authentication = yield* Authentication
    return Authorization.of({
      bearer: Effect.fnUntraced(function* (httpEffect, { credential, endpoint, group }) {
        const { params } = yield* HttpRouter.RouteContext
        const { remoteAddress } = yield* HttpServerRequest.HttpServerRequest
        const caller = yield* authentication
          .authenticate(credential, {
            group: group.identifier,
            endpoint: endpoint.identifier,
            scope: scopeOf(endpoint),
            relayerId: params.relayer_id,
            from: Option.getOrUndefined(remoteAddress)
          })
          .pipe(Effect.tapErrorTag("Unauthorized", () => Metric.update(unauthorizedRequestsTotal, 1)))
        return yield* Effect.provideService(httpEffect, CurrentCaller, caller)
      })
    })
  })
)
