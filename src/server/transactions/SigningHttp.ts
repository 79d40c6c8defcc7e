// The handlers of `SigningApi`, `NodeCallsApi` and `NoncesApi`.
import { Effect } from "effect"
import { HttpApiBuilder } from "effect/http-api"
import { Api } from "../../api/Api.ts"
import * as Respond from "../responses/Respond.ts"
import { MessageSigning } from "./MessageSigning.ts"
import { NodePassing } from "./NodePassing.ts"
import { Nonces } from "./Nonces.ts"

export const SigningHttp = HttpApiBuilder.group(
  Api,
  "signing",
  Effect.fnUntraced(function* (handlers) {
    const signing = yield* MessageSigning
    return handlers.handleAll({
      sign: ({ params, payload }) => Respond.one(signing.sign(params.relayer_id, payload)),
      signTypedData: ({ params, payload }) => Respond.one(signing.signTypedData(params.relayer_id, payload))
    })
  })
)

export const NodeCallsHttp = HttpApiBuilder.group(
  Api,
  "nodeCalls",
  Effect.fnUntraced(function* (handlers) {
    const passing = yield* NodePassing
    return handlers.handleAll({ rpc: ({ params, payload }) => passing.call(params.relayer_id, payload) })
  })
)

export const NoncesHttp = HttpApiBuilder.group(
  Api,
  "nonces",
  Effect.fnUntraced(function* (handlers) {
    const nonces = yield* Nonces
    return handlers.handleAll({
      get: ({ params }) => Respond.one(nonces.get(params.relayer_id)),
      resync: ({ params, payload }) => Respond.one(nonces.resync(params.relayer_id, payload)),
      clear: ({ params, payload }) => Respond.one(nonces.clear(params.relayer_id, payload)),
      beginGeneration: ({ params }) => Respond.one(nonces.beginGeneration(params.relayer_id))
    })
  })
)
