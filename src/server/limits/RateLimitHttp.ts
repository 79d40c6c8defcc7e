// The implementation of `RateLimit`.
import { Effect, Layer } from "effect"
import { HttpEffect, HttpServerResponse } from "effect/http"
import { RateLimit } from "../../api/Middleware.ts"
import { CurrentCaller } from "../../domain/access/Caller.ts"
import * as RateLimitHeaders from "./RateLimitHeaders.ts"
import { RateLimits } from "./RateLimits.ts"

export const RateLimitHttp = Layer.effect(
  RateLimit,
  Effect.gen(function* () {
    const limits = yield* RateLimits
    const headersOf = RateLimitHeaders.make(limits.options)

    return RateLimit.of((httpEffect) =>
      Effect.flatMap(CurrentCaller, (caller) => limits.consume(caller.id)).pipe(
        Effect.tapError(({ retryAfter }) => {
          const headers = headersOf({ remaining: 0, resetSeconds: retryAfter })
          return HttpEffect.appendPreResponseHandler((_, response) =>
            Effect.succeed(HttpServerResponse.setHeaders(response, headers))
          )
        }),
        Effect.flatMap((allowance) => Effect.map(httpEffect, HttpServerResponse.setHeaders(headersOf(allowance))))
      )
    )
  })
)
