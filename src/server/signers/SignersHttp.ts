// The handlers of `SignersApi`.
import { Effect } from "effect"
import { HttpApiBuilder } from "effect/http-api"
import { Api } from "../../api/Api.ts"
import * as GroupServices from "../responses/GroupServices.ts"
import * as Respond from "../responses/Respond.ts"
import { Signers } from "./Signers.ts"

export const SignersHttp = HttpApiBuilder.group(
  Api,
  "signers",
  Effect.fnUntraced(function* (handlers) {
    const signers = yield* Signers
    return handlers.handleAll({
      create: ({ payload }) => Respond.created(signers.create(payload)),
      list: ({ query }) => Respond.page(signers.list(query)),
      get: ({ params }) => Respond.one(signers.get(params.signer_id)),
      delete: ({ params }) => Respond.done(signers.delete(params.signer_id), "Signer deleted successfully"),
      replaceCredentials: ({ params, payload }) => Respond.one(signers.replaceCredentials(params.signer_id, payload)),
      verify: ({ params }) => Respond.one(signers.verify(params.signer_id))
    })
  })
).pipe(GroupServices.limitTo(Signers))
