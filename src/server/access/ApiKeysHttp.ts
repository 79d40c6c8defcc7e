// The handlers of `ApiKeysApi`.
import { Effect } from "effect"
import { HttpApiBuilder } from "effect/http-api"
import { Api } from "../../api/Api.ts"
import * as GroupServices from "../responses/GroupServices.ts"
import * as Respond from "../responses/Respond.ts"
import { ApiKeys } from "./ApiKeys.ts"

export const ApiKeysHttp = HttpApiBuilder.group(
  Api,
  "apiKeys",
  Effect.fnUntraced(function* (handlers) {
    const keys = yield* ApiKeys
    return handlers.handleAll({
      create: ({ payload }) => Respond.createdVersioned(keys.create(payload)),
      list: ({ query }) => Respond.page(keys.list(query)),
      current: () => Respond.one(keys.current),
      get: ({ params }) => Respond.versioned(keys.get(params.key_id)),
      update: ({ params, payload, headers }) =>
        Respond.versioned(keys.update(params.key_id, payload, headers["if-match"])),
      rotate: ({ params, payload }) => Respond.one(keys.rotate(params.key_id, payload)),
      delete: ({ params, query }) => Respond.one(keys.delete(params.key_id, query))
    })
  })
).pipe(GroupServices.limitTo(ApiKeys))
