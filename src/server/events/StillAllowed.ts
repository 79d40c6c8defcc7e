// Whether the key that a long request was sent with is still good for it.
import { Effect, Option } from "effect"
import { HttpServerRequest } from "effect/http"
import { HttpApiBuilder, HttpApiSecurity } from "effect/http-api"
import type { Authentication, Use } from "../access/Authentication.ts"

const token = Effect.provideService(
  HttpApiBuilder.securityDecode(HttpApiSecurity.bearer),
  HttpServerRequest.ParsedSearchParams,
  {}
)

/** Of the request that is being answered. Yes where nobody can say: the database is away. */
export const of = (authentication: Authentication["Service"], use: Omit<Use, "relayerId" | "from">) =>
  Effect.map(Effect.all([HttpServerRequest.HttpServerRequest, token]), ([{ remoteAddress }, token]) =>
    authentication
      .authenticate(token, { ...use, relayerId: undefined, from: Option.getOrUndefined(remoteAddress) })
      .pipe(
        Effect.as(true),
        Effect.orElseSucceed(() => false),
        Effect.catchDefect(() => Effect.succeed(true))
      )
  )
