// The implementation of `RateLimit`, with the header fields of draft-ietf-httpapi-ratelimit-headers-10.
import { Effect, Layer } from "effect"
import { HttpEffect, HttpServerResponse } from "effect/http"
import { RateLimit } from "../../api/Middleware.ts"
import { CurrentCaller } from "../../domain/Caller.ts"
import { RateLimits } from "./RateLimits.ts"

export const RateLimitHttp = Layer.effect(
  RateLimit,
  Effect.gen(function* () {
    const limits = yield* RateLimits
    const { burst, requestsPerSecond } = limits.options
    const policy = `"default";q=${burst};w=${Math.ceil(burst / requestsPerSecond)}`

    const withHeaders =
      (remaining: number, resetSeconds: number) => (response: HttpServerResponse.HttpServerResponse) =>
        HttpServerResponse.setHeaders(response, {
          "ratelimit-policy": policy,
          ratelimit: `"default";r=${remaining};t=${resetSeconds}`
        })

    return RateLimit.of((httpEffect) =>
      Effect.flatMap(CurrentCaller, (caller) => limits.consume(caller.id)).pipe(
        Effect.tapError(({ retryAfter }) =>
          HttpEffect.appendPreResponseHandler((_, response) => Effect.succeed(withHeaders(0, retryAfter)(response)))
        ),
        Effect.flatMap(({ remaining, resetSeconds }) => Effect.map(httpEffect, withHeaders(remaining, resetSeconds)))
      )
    )
  })
)
