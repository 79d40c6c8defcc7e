// The implementation of `Authorization`.
import { Effect, Layer, Metric } from "effect"
import { Authorization } from "../../api/Middleware.ts"
import { CurrentCaller } from "../../domain/Caller.ts"
import { unauthorizedRequestsTotal } from "../System/Metrics.ts"
import { ApiKeys } from "./ApiKeys.ts"

export const AuthorizationHttp = Layer.effect(
  Authorization,
  Effect.gen(function* () {
    const keys = yield* ApiKeys
    return Authorization.of({
      bearer: (httpEffect, { credential, endpoint, group }) =>
        keys.authenticate(credential, { group: group.identifier, endpoint: endpoint.identifier }).pipe(
          Effect.tapErrorTag("Unauthorized", () => Metric.update(unauthorizedRequestsTotal, 1)),
          Effect.flatMap((caller) => Effect.provideService(httpEffect, CurrentCaller, caller))
        )
    })
  })
)
