// The handlers of `RelayerHealthApi` and `ProvidersApi`.
import { Effect } from "effect"
import { HttpApiBuilder } from "effect/http-api"
import { SqlClient } from "effect/sql"
import { Api } from "../../api/Api.ts"
import * as GroupServices from "../responses/GroupServices.ts"
import * as Respond from "../responses/Respond.ts"
import { Networks } from "../networks/Networks.ts"
import { makeNetworkProviders, RelayerHealth } from "./RelayerHealth.ts"

export const RelayerHealthHttp = HttpApiBuilder.group(
  Api,
  "relayerHealth",
  Effect.fnUntraced(function* (handlers) {
    const health = yield* RelayerHealth
    return handlers.handleAll({
      status: ({ params }) => Respond.one(health.status(params.relayer_id)),
      balance: ({ params }) => Respond.one(health.balance(params.relayer_id)),
      check: ({ params }) => Respond.one(health.check(params.relayer_id)),
      balances: ({ params, query }) => Respond.one(health.balances(params.relayer_id, query)),
      explain: ({ params }) => Respond.one(health.explain(params.relayer_id))
    })
  })
).pipe(GroupServices.limitTo(RelayerHealth))

export const ProvidersHttp = HttpApiBuilder.group(
  Api,
  "providers",
  Effect.fnUntraced(function* (handlers) {
    const providers = yield* makeNetworkProviders
    return handlers.handleAll({
      list: ({ params, query }) => Respond.one(providers.list(params.network_id, query))
    })
  })
).pipe(GroupServices.limitTo(SqlClient.SqlClient, Networks))
