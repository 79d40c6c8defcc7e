// The handlers of `RelayerHealthApi`.
import { Effect } from "effect"
import { HttpApiBuilder } from "effect/http-api"
import { Api } from "../../api/Api.ts"
import * as GroupServices from "../responses/GroupServices.ts"
import * as Respond from "../responses/Respond.ts"
import { RelayerHealth } from "./RelayerHealth.ts"

export const RelayerHealthHttp = HttpApiBuilder.group(
  Api,
  "relayerHealth",
  Effect.fnUntraced(function* (handlers) {
    const health = yield* RelayerHealth
    return handlers.handleAll({
      status: ({ params }) => Respond.one(health.status(params.relayer_id)),
      balance: ({ params }) => Respond.one(health.balance(params.relayer_id)),
      check: ({ params }) => Respond.one(health.check(params.relayer_id)),
      explain: ({ params }) => Respond.one(health.explain(params.relayer_id))
    })
  })
).pipe(GroupServices.limitTo(RelayerHealth))
