// The bearer token of the current request.
import { Effect } from "effect"
import { HttpServerRequest } from "effect/http"
import { HttpApiBuilder, HttpApiSecurity } from "effect/http-api"

/** Empty if there is none. */
export const current = Effect.provideService(
  HttpApiBuilder.securityDecode(HttpApiSecurity.bearer),
  HttpServerRequest.ParsedSearchParams,
  {}
)
