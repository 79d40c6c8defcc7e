// The handlers of `NetworksApi`.
import { Effect } from "effect"
import { HttpApiBuilder } from "effect/http-api"
import { Api } from "../../api/Api.ts"
import * as GroupServices from "../responses/GroupServices.ts"
import * as Respond from "../responses/Respond.ts"
import { Networks } from "./Networks.ts"

export const NetworksHttp = HttpApiBuilder.group(
  Api,
  "networks",
  Effect.fnUntraced(function* (handlers) {
    const networks = yield* Networks
    return handlers.handleAll({
      // The check runs first: the create and the answer that is kept for its `Idempotency-Key` are one transaction.
      create: ({ payload, query }) =>
        Effect.flatMap(query.check ? networks.preview(payload) : Effect.succeed([]), (warnings) =>
          Respond.createdVersioned(networks.create(payload), warnings)
        ),
      list: ({ query }) => Respond.page(networks.list(query)),
      get: ({ params }) => Respond.versioned(networks.get(params.network_id)),
      update: ({ params, payload, headers }) =>
        Respond.versioned(networks.update(params.network_id, payload, headers["if-match"])),
      delete: ({ params, headers }) =>
        Respond.one(
          Effect.map(
            networks.delete(params.network_id, headers["if-match"]),
            (done) => `Network ${done} successfully` as const
          )
        )
    })
  })
).pipe(GroupServices.limitTo(Networks))
