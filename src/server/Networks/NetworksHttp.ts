// The handlers of `NetworksApi`.
import { Effect } from "effect"
import { HttpApiBuilder } from "effect/http-api"
import { Api } from "../../api/Api.ts"
import * as Respond from "../System/Respond.ts"
import { Networks } from "./Networks.ts"

export const NetworksHttp = HttpApiBuilder.group(
  Api,
  "networks",
  Effect.fnUntraced(function* (handlers) {
    const networks = yield* Networks
    return handlers.handleAll({
      list: ({ query }) => Respond.page(networks.list(query)),
      get: ({ params }) => Respond.one(networks.get(params.network_id))
    })
  })
)
