// The endpoint that answers JSON-RPC calls as a node that holds the key of the relayer.
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
        Errors.ForbiddenError,
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
            "Answers as a node that holds the key of the relayer, so that viem, ethers, web3.py, Hardhat and Foundry send through it. The service itself answers `eth_accounts`, `eth_requestAccounts`, `eth_chainId`, `net_version`, `eth_sendTransaction` (needs `transactions:write`), `personal_sign`, `eth_sign`, `eth_signTypedData` and `eth_signTypedData_v4` (need `transactions:sign`). Other methods are passed on to a provider of the relayer if they are in `rpc_methods` of the network. `eth_sendTransaction` is admitted as `POST /transactions`, and returns the hash of the first signed version; an error in its reply means that the transaction is never executed. A client that cannot set a header may give its API key in the URL, as the password of HTTP Basic authentication. The response is plain JSON-RPC, without an envelope; `Idempotency-Key` has no effect."
        })
      )
  )
  .middleware(DecodeErrors)
  .middleware(Authorization)
  .prefix("/api/v1/relayers")
  .annotateMerge(OpenApi.annotations({ title: "JSON-RPC", description: "Calls to the chain of a relayer." })) {}
