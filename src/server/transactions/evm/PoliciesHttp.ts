// The handler of `PoliciesApi`.
import { Effect } from "effect"
import { HttpApiBuilder } from "effect/http-api"
import { Api } from "../../../api/Api.ts"
import * as GroupServices from "../../responses/GroupServices.ts"
import * as Respond from "../../responses/Respond.ts"
import { Rehearsals } from "./Rehearsals.ts"

export const PoliciesHttp = HttpApiBuilder.group(
  Api,
  "policies",
  Effect.fnUntraced(function* (handlers) {
    const rehearsals = yield* Rehearsals
    return handlers.handleAll({
      rehearse: ({ params, payload }) => Respond.one(rehearsals.rehearse(params.relayer_id, payload))
    })
  })
).pipe(GroupServices.limitTo(Rehearsals))
