// Implements `MetricsAccess`: the limit of the address, and the token of the metrics if there is one.
import { Effect, Layer, Redacted } from "effect"
import { createHash, timingSafeEqual } from "node:crypto"
import { MetricsAccess } from "../../api/Middleware.ts"
import { Unauthorized } from "../../domain/access/Caller.ts"
import { bearerToken } from "../authentication/Authentication.ts"
import { Strangers } from "../limits/Strangers.ts"

const sha256 = (token: Redacted.Redacted) => createHash("sha256").update(Redacted.value(token)).digest()

/** `token` absent: everybody may read the metrics. */
export const layer = (token: Redacted.Redacted | undefined) =>
  Layer.effect(
    MetricsAccess,
    Effect.gen(function* () {
      const strangers = yield* Strangers
      const expected = token === undefined ? undefined : sha256(token)

      const checkToken = Effect.gen(function* () {
        if (expected === undefined) return
        const given = yield* bearerToken
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
