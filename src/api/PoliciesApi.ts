// The endpoint that tries a policy on past transactions.
import { Schema } from "effect"
import { HttpApiEndpoint, HttpApiGroup, OpenApi } from "effect/http-api"
import { RelayerId } from "../domain/relayer/Relayer.ts"
import { Rehearsal, RehearsePolicy } from "../domain/transaction/evm/Rehearsal.ts"
import * as Envelope from "./Envelope.ts"
import * as Errors from "./Errors.ts"
import * as Json from "./Json.ts"
import { Authorization, DecodeErrors, OutboundLimit, RequestBody } from "./Middleware.ts"
import { RequiredScope } from "./Scopes.ts"

export class PoliciesApi extends HttpApiGroup.make("policies")
  .add(
    HttpApiEndpoint.post("rehearse", "/:relayer_id/policies/rehearse", {
      params: Schema.Struct({ relayer_id: RelayerId }),
      payload: Json.body(RehearsePolicy),
      success: Envelope.of(Rehearsal),
      error: [
        Errors.RelayerNotFoundError,
        Errors.NotImplementedError,
        Errors.RehearsalTooLargeError,
        Errors.ForbiddenError,
        ...Errors.ofOutboundWork,
        ...Errors.any
      ]
    })
      .middleware(RequestBody)
      .middleware(OutboundLimit)
      .annotate(RequiredScope, "relayers:read")
      .annotateMerge(
        OpenApi.annotations({
          summary: "Try a policy on past transactions",
          description:
            "Says what a changed policy would have done to the final transactions of the last days: which it would have refused, and which it would have held because of its `gas_price_cap`. Changes and stores nothing. Relayers on evm only. It also needs the scope `transactions:read`. Repeat it with fewer `days` if it answers 413."
        })
      )
  )
  .middleware(DecodeErrors)
  .middleware(Authorization)
  .prefix("/api/v1/relayers")
  .annotateMerge(OpenApi.annotations({ title: "Policies", description: "The limits of relayers." })) {}
