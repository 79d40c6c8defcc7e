// The endpoint that passes JSON-RPC calls on to the providers of a relayer.
import { Schema } from "effect"
import { HttpApiEndpoint, HttpApiGroup, OpenApi } from "effect/http-api"
import { RelayerId } from "../domain/relayer/Relayer.ts"
import { NodeCalls, NodeReplies } from "../domain/transaction/NodeCall.ts"
import * as Errors from "./Errors.ts"
import * as Json from "./Json.ts"
import { Authorization, DecodeErrors, OutboundLimit, RequestBody } from "./Middleware.ts"
import { RequiredScope } from "./Scopes.ts"

export class NodeCallsApi extends HttpApiGroup.make("nodeCalls")
  .add(
    HttpApiEndpoint.post("rpc", "/:relayer_id/rpc", {
      params: Schema.Struct({ relayer_id: RelayerId }),
      payload: Json.body(NodeCalls),
      success: Json.body(NodeReplies),
      error: [
        Errors.RelayerNotFoundError,
        Errors.NotImplementedError,
        Errors.BadGatewayError,
        ...Errors.ofOutboundWork,
        ...Errors.any
      ]
    })
      .middleware(RequestBody)
      .middleware(OutboundLimit)
      .annotate(RequiredScope, "rpc:call")
      .annotateMerge(
        OpenApi.annotations({
          summary: "Call a JSON-RPC method of the chain",
          description:
            "Passes the call on to a provider of the relayer if the method is in `rpc_methods` of the network. The response is plain JSON-RPC, without an envelope."
        })
      )
  )
  .middleware(DecodeErrors)
  .middleware(Authorization)
  .prefix("/api/v1/relayers")
  .annotateMerge(OpenApi.annotations({ title: "JSON-RPC", description: "Calls to the chain of a relayer." })) {}
