// The handlers of `NetworksApi`.
import { Effect } from "effect"
import { HttpApiBuilder } from "effect/http-api"
import { Api } from "../../api/Api.ts"
import * as Respond from "../responses/Respond.ts"
import { Networks } from "./Networks.ts"

export const NetworksHttp = HttpApiBuilder.group(
  Api,
  "networks",
  Effect.fnUntraced(function* (handlers) {
    const networks = yield* Networks
    return handlers.handleAll({
      create: ({ payload }) => Respond.created(networks.create(payload)),
      list: ({ query }) => Respond.page(networks.list(query)),
      get: ({ params }) => Respond.one(networks.get(params.network_id)),
      update: ({ params, payload }) => Respond.one(networks.update(params.network_id, payload)),
      delete: ({ params }) =>
        Respond.one(Effect.map(networks.delete(params.network_id), (done) => `Network ${done} successfully` as const))
    })
  })
)
