// The handlers of `NodeCallsApi`.
import { Effect } from "effect"
import { HttpApiBuilder } from "effect/http-api"
import { Api } from "../../../api/Api.ts"
import * as GroupServices from "../../responses/GroupServices.ts"
import { NodePassing } from "./NodePassing.ts"

export const NodeCallsHttp = HttpApiBuilder.group(
  Api,
  "nodeCalls",
  Effect.fnUntraced(function* (handlers) {
    const passing = yield* NodePassing
    return handlers.handleAll({ rpc: ({ params, payload }) => passing.call(params.relayer_id, payload) })
  })
).pipe(GroupServices.limitTo(NodePassing))
