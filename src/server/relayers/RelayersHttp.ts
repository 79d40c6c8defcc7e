// The handlers of `RelayersApi`.
import { Effect } from "effect"
import { HttpApiBuilder } from "effect/http-api"
import { Api } from "../../api/Api.ts"
import * as GroupServices from "../responses/GroupServices.ts"
import * as Respond from "../responses/Respond.ts"
import { Relayers } from "./Relayers.ts"

export const RelayersHttp = HttpApiBuilder.group(
  Api,
  "relayers",
  Effect.fnUntraced(function* (handlers) {
    const relayers = yield* Relayers
    return handlers.handleAll({
      // The check runs first: the create and the answer that is kept for its `Idempotency-Key` are one transaction.
      create: ({ payload, query }) =>
        Effect.flatMap(query.check ? relayers.preview(payload) : Effect.succeed([]), (warnings) =>
          Respond.createdStored(relayers.create(payload), warnings)
        ),
      list: ({ query }) => Respond.storedPage(relayers.list(query)),
      get: ({ params }) => Respond.stored(relayers.get(params.relayer_id)),
      update: ({ params, payload, headers }) =>
        Respond.stored(relayers.update(params.relayer_id, payload, headers["if-match"])),
      delete: ({ params, headers }) =>
        Respond.done(relayers.delete(params.relayer_id, headers["if-match"]), "Relayer deleted successfully")
    })
  })
).pipe(GroupServices.limitTo(Relayers))
