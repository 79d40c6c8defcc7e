// The handlers of `ClaimsApi`.
import { Effect } from "effect"
import { HttpApiBuilder } from "effect/http-api"
import { Api } from "../../api/Api.ts"
import * as GroupServices from "../responses/GroupServices.ts"
import * as Respond from "../responses/Respond.ts"
import { Claims } from "./Claims.ts"

export const ClaimsHttp = HttpApiBuilder.group(
  Api,
  "claims",
  Effect.fnUntraced(function* (handlers) {
    const claims = yield* Claims
    return handlers.handleAll({
      take: ({ payload }) => Respond.one(claims.take(payload)),
      get: ({ params }) => Respond.one(claims.get(params.name)),
      release: ({ params, query }) => Respond.done(claims.release(params.name, query.by), "Claim released successfully")
    })
  })
).pipe(GroupServices.limitTo(Claims))
