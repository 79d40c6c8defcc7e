// The endpoints of networks: create, list, read, change, delete, and the health of their RPC providers.
import { Schema } from "effect"
import { HttpApiEndpoint, HttpApiGroup, OpenApi } from "effect/http-api"
import { CheckQuery } from "../domain/chain/ChainSnapshot.ts"
import { CreateNetwork, Network, NetworkId, UpdateNetwork } from "../domain/network/Network.ts"
import { NetworkProvider, ProvidersQuery } from "../domain/network/NetworkProvider.ts"
import { PageQuery } from "../domain/request/Page.ts"
import { ifMatch, RequiredScope, versioned } from "./Endpoint.ts"
import * as Envelope from "./Envelope.ts"
import * as Errors from "./Errors.ts"
import * as Json from "./Json.ts"
import { Authorization, DecodeErrors, Idempotency, RequestBody } from "./Middleware.ts"

const params = Schema.Struct({ network_id: NetworkId })

export class NetworksApi extends HttpApiGroup.make("networks")
  .add(
    HttpApiEndpoint.post("create", "/", {
      query: CheckQuery,
      payload: Json.body(CreateNetwork),
      success: Envelope.created(Network),
      error: [Errors.NetworkIdTakenError, Errors.TransactionLimitExceededError, ...Errors.ofOutboundWork, ...Errors.any]
    })
      .middleware(Idempotency)
      .middleware(RequestBody)
      .annotate(RequiredScope, "networks:write")
      .annotateMerge(
        OpenApi.annotations({
          summary: "Create a network",
          description:
            "The network inherits every field that the request leaves out from the network in `from`, which must be of the same type. `rpc_urls` replace the inherited ones; `tags` and `features` are added to the inherited ones. RPC URLs are encrypted at rest and returned masked. A key with `transaction_limits` may not create, change or delete networks. No provider is asked, unless `check` is true: then `metadata.logs` names the RPC URLs that do not work, and why.",
          transform: versioned
        })
      ),
    HttpApiEndpoint.get("list", "/", {
      query: PageQuery,
      success: Envelope.pageOf(Network),
      error: Errors.any
    })
      .annotate(RequiredScope, "networks:read")
      .annotateMerge(
        OpenApi.annotations({
          summary: "List networks",
          description: "Built-in networks first, then created networks in creation order."
        })
      ),
    HttpApiEndpoint.get("get", "/:network_id", {
      params,
      success: Envelope.of(Network),
      error: [Errors.NetworkNotFoundError, ...Errors.any]
    })
      .annotate(RequiredScope, "networks:read")
      .annotateMerge(
        OpenApi.annotations({
          summary: "Get a network",
          description: "The id is the type and the name, such as `evm:sepolia`. Inherited fields are included.",
          transform: versioned
        })
      ),
    HttpApiEndpoint.patch("update", "/:network_id", {
      params,
      headers: ifMatch,
      payload: Json.mergePatch(UpdateNetwork),
      success: Envelope.of(Network),
      error: [
        Errors.NetworkNotFoundError,
        Errors.PreconditionFailedError,
        Errors.TransactionLimitExceededError,
        ...Errors.any
      ]
    })
      .middleware(RequestBody)
      .annotate(RequiredScope, "networks:write")
      .annotateMerge(
        OpenApi.annotations({
          summary: "Change a network",
          description:
            "A merge patch (RFC 7396) of the fields that the network defines itself: absent fields stay, null removes a field so that the inherited value applies again. In a built-in network, a value overrides the built-in one, and null restores it. In `rpc_urls`, the n-th occurrence of a masked URL stands for the n-th stored URL with that mask.",
          transform: versioned
        })
      ),
    HttpApiEndpoint.delete("delete", "/:network_id", {
      params,
      headers: ifMatch,
      success: Envelope.deleted("Network deleted successfully", "Network reset successfully"),
      error: [
        Errors.NetworkNotFoundError,
        Errors.PreconditionFailedError,
        Errors.NetworkInUseError,
        Errors.TransactionLimitExceededError,
        ...Errors.any
      ]
    })
      .annotate(RequiredScope, "networks:write")
      .annotateMerge(
        OpenApi.annotations({
          summary: "Delete a network, or reset a built-in one",
          description:
            "Refused while relayers use the network or other networks inherit from it. A built-in network loses its overrides, also while it is in use."
        })
      )
  )
  .middleware(DecodeErrors)
  .middleware(Authorization)
  .prefix("/api/v1/networks")
  .annotateMerge(
    OpenApi.annotations({ title: "Networks", description: "Configurations of chains that relayers can be bound to." })
  ) {}

// The endpoint that shows the health of a network's RPC providers.

export class ProvidersApi extends HttpApiGroup.make("providers")
  .add(
    HttpApiEndpoint.get("list", "/:network_id/providers", {
      params: Schema.Struct({ network_id: NetworkId }),
      query: ProvidersQuery,
      success: Envelope.listOf(NetworkProvider),
      error: [Errors.NetworkNotFoundError, ...Errors.ofOutboundWork, ...Errors.any]
    })
      .annotate(RequiredScope, "networks:read")
      .annotateMerge(
        OpenApi.annotations({
          summary: "List the providers of a network with their health",
          description:
            "The RPC URLs of the network, masked, each with what the last checks of relayers found, of all instances. No provider is asked, unless `check` is true: then each says now which chain it serves and what it can do."
        })
      )
  )
  .middleware(DecodeErrors)
  .middleware(Authorization)
  .prefix("/api/v1/networks")
  .annotateMerge(OpenApi.annotations({ title: "Providers", description: "How the RPC providers of networks do." })) {}
