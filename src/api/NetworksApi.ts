// Networks: those that are built in, and a team's own.
import { Schema } from "effect"
import { HttpApiEndpoint, HttpApiGroup, OpenApi } from "effect/http-api"
import { CreateNetwork, Network, NetworkId, UpdateNetwork } from "../domain/network/Network.ts"
import { PageQuery } from "../domain/request/Page.ts"
import * as Envelope from "./Envelope.ts"
import * as Errors from "./Errors.ts"
import * as Json from "./Json.ts"
import { Authorization, DecodeErrors, Idempotency, RequestBody } from "./Middleware.ts"
import { RequiredScope } from "./Scopes.ts"

const params = Schema.Struct({ network_id: NetworkId })

export class NetworksApi extends HttpApiGroup.make("networks")
  .add(
    HttpApiEndpoint.post("create", "/", {
      payload: Json.body(CreateNetwork),
      success: Envelope.created(Network),
      error: [Errors.NetworkIdTakenError, ...Errors.any]
    })
      .middleware(Idempotency)
      .middleware(RequestBody)
      .annotate(RequiredScope, "networks:write")
      .annotateMerge(
        OpenApi.annotations({
          summary: "Create a network",
          description:
            "What it does not bring is inherited from the network that `from` names, of the same type. `rpc_urls` are replaced whole, `tags` and `features` are added to the inherited ones. RPC URLs are encrypted at rest and come back masked."
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
          description: "Those that are built in, then a team's own in creation order."
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
          description: "By its id: type and name, such as `evm:sepolia`."
        })
      ),
    HttpApiEndpoint.patch("update", "/:network_id", {
      params,
      payload: Json.mergePatch(UpdateNetwork),
      success: Envelope.of(Network),
      error: [Errors.NetworkNotFoundError, ...Errors.any]
    })
      .middleware(RequestBody)
      .annotate(RequiredScope, "networks:write")
      .annotateMerge(
        OpenApi.annotations({
          summary: "Change a network",
          description:
            "A merge patch (RFC 7396) over what the network itself says: what is absent stays, null takes it away, so that the inherited value counts again. A built-in network is overridden: there, every value replaces the built-in one, and null brings that one back. In `rpc_urls`, the n-th occurrence of a masked URL stands for the n-th stored URL with that mask."
        })
      ),
    HttpApiEndpoint.delete("delete", "/:network_id", {
      params,
      success: Envelope.of(Schema.Literals(["Network deleted successfully", "Network reset successfully"])),
      error: [Errors.NetworkNotFoundError, Errors.NetworkInUseError, ...Errors.any]
    })
      .annotate(RequiredScope, "networks:write")
      .annotateMerge(
        OpenApi.annotations({
          summary: "Delete a network, or reset a built-in one",
          description:
            "Not while relayers are on it or other networks are from it. A built-in network loses what was overridden, also while it is used."
        })
      )
  )
  .middleware(DecodeErrors)
  .middleware(Authorization)
  .prefix("/api/v1/networks")
  .annotateMerge(
    OpenApi.annotations({ title: "Networks", description: "The networks that relayers can be bound to." })
  ) {}
