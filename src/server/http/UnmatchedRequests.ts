// Responses to requests that match no route. They count against the limits of their caller, or of their address.
import { Effect } from "effect"
import { HttpServerRequest, HttpServerResponse } from "effect/http"
import { HttpApiBuilder, HttpApiSecurity } from "effect/http-api"
import * as Request from "../../domain/request/Request.ts"
import * as Failures from "../responses/Failures.ts"
import { Strangers } from "../limits/Strangers.ts"
import { CurrentRequest } from "../responses/CurrentRequest.ts"
import { makeBuckets, makeCredentials } from "./AuthorizationHttp.ts"
import { allowedMethods } from "./Routes.ts"

const isResource = (url: string) => /^\/+api(\/|\?|$)/i.test(url)

/** 404, or 405 and 204 with `Allow`. Below `/api`, a caller without a valid key gets 401 and does not learn which routes exist. */
export const make = Effect.fnUntraced(function* ({ docs }: { readonly docs: boolean }) {
  const credentials = yield* makeCredentials
  const consume = yield* makeBuckets
  const strangers = yield* Strangers

  /** Below `/api`, the request takes a token from the caller's bucket. Other paths need no key. */
  const admit = Effect.gen(function* () {
    const token = yield* HttpApiBuilder.securityDecode(HttpApiSecurity.bearer)
    const { id } = yield* credentials.authenticate(token, undefined)
    yield* consume(id, yield* CurrentRequest)
  })

  const respond = Effect.gen(function* () {
    const { method, url } = yield* HttpServerRequest.HttpServerRequest
    yield* isResource(url) ? admit : strangers.admitUnmatched
    const allow = allowedMethods(url, docs)
    if (allow.length === 0) return Failures.notFound(new Request.NotFound({}))
    return method === "OPTIONS"
      ? HttpServerResponse.empty({ headers: { allow: allow.join(", ") } })
      : Failures.methodNotAllowed(new Request.MethodNotAllowed({ allow }))
  }).pipe(
    Effect.provideService(HttpServerRequest.ParsedSearchParams, {}),
    Effect.catchTags({
      Unauthorized: (error) => Effect.succeed(Failures.unauthorized(error)),
      TooManyRequests: (error) => Effect.succeed(Failures.tooManyRequests(error)),
      Forbidden: (error) => Effect.succeed(Failures.forbidden(error))
    })
  )
  return { respond }
})
