// Implements `MetricsAccess`: the limit of the address, and the token of the metrics if there is one.
import { Effect, Layer, Redacted } from "effect"
import { HttpServerRequest } from "effect/http"
import { HttpApiBuilder, HttpApiSecurity } from "effect/http-api"
import { createHash, timingSafeEqual } from "node:crypto"
import { MetricsAccess } from "../../api/Middleware.ts"
import { Unauthorized } from "../../domain/access/Caller.ts"
import { Strangers } from "../limits/Strangers.ts"

const sha256 = (token: Redacted.Redacted) => createHash("sha256").update(Redacted.value(token)).digest()

const bearer = Effect.provideService(
  HttpApiBuilder.securityDecode(HttpApiSecurity.bearer),
  HttpServerRequest.ParsedSearchParams,
  {}
)

/** `token` absent: everybody may read the metrics. */
export const layer = (token: Redacted.Redacted | undefined) =>
  Layer.effect(
    MetricsAccess,
    Effect.gen(function* () {
      const strangers = yield* Strangers
      const expected = token === undefined ? undefined : sha256(token)

      const checkToken = Effect.gen(function* () {
        if (expected === undefined) return
        const given = yield* bearer
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
