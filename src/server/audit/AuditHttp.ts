// The handlers of `AuditApi`.
import { Effect } from "effect"
import { HttpApiBuilder } from "effect/http-api"
import { Api } from "../../api/Api.ts"
import * as GroupServices from "../responses/GroupServices.ts"
import * as Respond from "../responses/Respond.ts"
import { Audit, AuditCheckpoints } from "./Audit.ts"

export const AuditHttp = HttpApiBuilder.group(
  Api,
  "audit",
  Effect.fnUntraced(function* (handlers) {
    const audit = yield* Audit
    const checkpoints = yield* AuditCheckpoints
    return handlers.handleAll({
      list: ({ query }) => Respond.items(audit.list(query)),
      verify: ({ query }) => Respond.one(audit.verify(query)),
      export: ({ query }) => Respond.items(audit.export(query), "after"),
      checkpoints: () => Respond.one(checkpoints.list),
      checkpoint: () => Respond.one(checkpoints.create),
      prune: ({ params, payload }) => Respond.one(checkpoints.prune(params.position, payload))
    })
  })
).pipe(GroupServices.limitTo(Audit, AuditCheckpoints))
