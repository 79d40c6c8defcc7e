// Decides which caller a bearer token belongs to, and whether that caller may use an endpoint. `access/KeyAuthentication.ts`
// implements it with API keys. A host program may provide its own.
import { Context, Effect } from "effect"
import type { Redacted } from "effect"
import { HttpServerRequest } from "effect/http"
import { HttpApiBuilder, HttpApiSecurity } from "effect/http-api"
import type { Scope } from "../../domain/access/ApiKey.ts"
import type { Caller, Forbidden, TooManyRequests, Unauthorized } from "../../domain/access/Caller.ts"

/** The bearer token of the current request. Empty if there is none. */
export const bearerToken = Effect.provideService(
  HttpApiBuilder.securityDecode(HttpApiSecurity.bearer),
  HttpServerRequest.ParsedSearchParams,
  {}
)

/** What a token is used for. */
export interface Use {
  /** The endpoint as the contract names it: group and endpoint, such as `relayers` and `create`. */
  readonly group: string
  readonly endpoint: string
  readonly method: string
  /** The pattern of the path, such as `/api/v1/relayers/:relayer_id`. */
  readonly route: string
  /** The scope that the endpoint requires. `undefined`: only a caller without limits may use it. */
  readonly scope: Scope | undefined
  /** The relayer in the path, if the path has one. */
  readonly relayerId: string | undefined
  /** Network address of the client. */
  readonly from: string | undefined
}

export class Authentication extends Context.Service<
  Authentication,
  {
    /**
     * `use` is absent if every caller may use the endpoint, and if no endpoint matches the request: only an authenticated caller
     * learns that a route is unknown.
     */
    authenticate(
      token: Redacted.Redacted,
      use: Use | undefined
    ): Effect.Effect<Caller, Unauthorized | Forbidden | TooManyRequests>
  }
>()("effect-relayer/server/authentication/Authentication") {}
