// Checks whether the API key of a long request is still valid for it.
import { Effect } from "effect"
import type { Authentication, Use } from "../authentication/Authentication.ts"
import * as BearerToken from "../authentication/BearerToken.ts"
import * as ClientAddress from "../responses/ClientAddress.ts"

/** The check for the current request. True while the database is unavailable, so that an outage closes no stream. */
export const of = (authentication: Authentication["Service"], use: Omit<Use, "relayerId" | "from">) =>
  Effect.map(Effect.all([ClientAddress.current, BearerToken.current]), ([from, token]) =>
    authentication.authenticate(token, { ...use, relayerId: undefined, from }).pipe(
      Effect.as(true),
      Effect.orElseSucceed(() => false),
      Effect.catchDefect(() => Effect.succeed(true))
    )
  )
