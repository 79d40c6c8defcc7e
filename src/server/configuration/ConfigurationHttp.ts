// The handlers of `ConfigurationApi`.
import { Effect } from "effect"
import { HttpApiBuilder } from "effect/http-api"
import { Api } from "../../api/Api.ts"
import * as GroupServices from "../responses/GroupServices.ts"
import * as Respond from "../responses/Respond.ts"
import { Configuration } from "./Configuration.ts"

export const ConfigurationHttp = HttpApiBuilder.group(
  Api,
  "configuration",
  Effect.fnUntraced(function* (handlers) {
    const configuration = yield* Configuration
    return handlers.handleAll({
      plan: ({ payload }) => Respond.one(configuration.plan(payload)),
      apply: ({ payload }) => Respond.one(configuration.apply(payload)),
      list: ({ query }) => Respond.page(configuration.list(query)),
      get: ({ params }) => Respond.one(configuration.get(params.configuration)),
      document: ({ params, query }) => Respond.one(configuration.document(params.configuration, query))
    })
  })
).pipe(GroupServices.limitTo(Configuration))
