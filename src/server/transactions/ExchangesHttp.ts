// The handlers of `TransactionSigningApi`, `SponsoredApi` and `NodeCallsApi`. The network of the relayer decodes the body.
import { Effect } from "effect"
import { HttpApiBuilder } from "effect/http-api"
import { Api } from "../../api/Api.ts"
import * as GroupServices from "../responses/GroupServices.ts"
import * as Respond from "../responses/Respond.ts"
import { bodyOf } from "./Intake.ts"
import { NodePassing } from "./NodePassing.ts"
import { Sponsoring } from "./Sponsoring.ts"
import { TransactionSigning } from "./TransactionSigning.ts"

export const TransactionSigningHttp = HttpApiBuilder.group(
  Api,
  "transactionSigning",
  Effect.fnUntraced(function* (handlers) {
    const signing = yield* TransactionSigning
    return handlers.handleRaw("signTransaction", (call) =>
      Respond.one(Effect.flatMap(bodyOf(call), (body) => signing.sign(call.params.relayer_id, body)))
    )
  })
).pipe(GroupServices.limitTo(TransactionSigning))

export const SponsoredHttp = HttpApiBuilder.group(
  Api,
  "sponsored",
  Effect.fnUntraced(function* (handlers) {
    const sponsoring = yield* Sponsoring
    return handlers
      .handleRaw("quote", (call) =>
        Respond.one(Effect.flatMap(bodyOf(call), (body) => sponsoring.quote(call.params.relayer_id, body)))
      )
      .handleRaw("build", (call) =>
        Respond.one(Effect.flatMap(bodyOf(call), (body) => sponsoring.build(call.params.relayer_id, body)))
      )
  })
).pipe(GroupServices.limitTo(Sponsoring))

export const NodeCallsHttp = HttpApiBuilder.group(
  Api,
  "nodeCalls",
  Effect.fnUntraced(function* (handlers) {
    const passing = yield* NodePassing
    return handlers.handleAll({ rpc: ({ params, payload }) => passing.call(params.relayer_id, payload) })
  })
).pipe(GroupServices.limitTo(NodePassing))
