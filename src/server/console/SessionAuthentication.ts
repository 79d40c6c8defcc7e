// Implements `Authentication` for the console: the token of a request has both halves of a session, and the caller is the key of
// that session as it is now.
import { Duration, Effect, Layer, Option } from "effect"
import type { Redacted } from "effect"
import { isAllowed } from "../access/KeyAuthentication.ts"
import * as Refusals from "../access/Refusals.ts"
import { Authentication } from "../authentication/Authentication.ts"
import type { Use } from "../authentication/Authentication.ts"
import { withMonotonic } from "../lifecycle/MonotonicClock.ts"
import { Forbidden, TooManyRequests, Unauthorized } from "../../domain/access/Caller.ts"
import type { Caller } from "../../domain/access/Caller.ts"
import { makeTokenBuckets, RateLimits } from "../limits/RateLimits.ts"
import * as SessionHalves from "./SessionHalves.ts"
import { Sessions } from "./Sessions.ts"

/** What requests that pages make by themselves may take of the rate limit of a key. */
const pageShare = 1 / 4

/** Seconds after which a page may ask again. */
const retryAfter = 1

export const layer = Layer.effect(
  Authentication,
  Effect.gen(function* () {
    const sessions = yield* Sessions
    const refused = yield* Refusals.make
    const { options } = yield* RateLimits
    const { take } = makeTokenBuckets()
    const limit = Math.max(1, Math.floor(options.burst * pageShare))
    const refillRate = Duration.seconds(1 / (options.requestsPerSecond * pageShare))

    /** Takes a token of the requests that pages make by themselves with this key. */
    const admitPage = ({ id }: Caller) =>
      withMonotonic(take({ key: id, limit, refillRate, tokens: 1, allowOverflow: false })).pipe(
        Effect.orDie,
        Effect.flatMap(([remaining]) =>
          remaining < 0 ? Effect.fail(new TooManyRequests({ retryAfter })) : Effect.void
        )
      )

    const check = Effect.fnUntraced(function* (caller: Caller, use: Use | undefined) {
      if (use === undefined || isAllowed(caller, use)) return caller
      yield* refused(caller, use)
      return yield* Forbidden.of(caller.id)
    })

    const authenticate = Effect.fnUntraced(function* (token: Redacted.Redacted, use: Use | undefined) {
      const presented = SessionHalves.fromToken(token)
      const found = presented === undefined ? Option.none() : yield* sessions.find(presented)
      if (presented === undefined || Option.isNone(found)) return yield* new Unauthorized({})
      const { caller } = found.value
      if (!presented.isByPerson) yield* admitPage(caller)
      return yield* check(caller, use)
    })

    return Authentication.of({ authenticate })
  })
)
