// Authenticates requests and counts the ones that are refused.
import { Effect, Metric, Redacted } from "effect"
import { Unauthorized } from "../../domain/access/Caller.ts"
import { Strangers } from "../limits/Strangers.ts"
import { Authentication } from "../authentication/Authentication.ts"
import type { Use } from "../authentication/Authentication.ts"
import { unauthorizedRequestsTotal } from "./RequestMetrics.ts"

/** Adds to the refusal of a token that there was one (RFC 6750, section 3.1). An empty token stands for none. */
export const make = Effect.map(Effect.all([Authentication, Strangers]), ([{ authenticate }, strangers]) => ({
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
