// The endpoints of networks: create, list, read, change, delete, and the health of their RPC providers.
import { Schema } from "effect"
import { CheckQuery } from "../domain/chain/ChainSnapshot.ts"
import { CreateNetwork, Network, NetworkId, UpdateNetwork } from "../domain/network/Network.ts"
import { NetworkProvider, ProvidersQuery } from "../domain/network/NetworkProvider.ts"
import { PageQuery } from "../domain/request/Page.ts"
import * as Endpoint from "./Endpoint.ts"
import * as Envelope from "./Envelope.ts"
import * as Errors from "./Errors.ts"
import * as Json from "./Json.ts"
import { Idempotency, RequestBody } from "./Middleware.ts"

const params = Schema.Struct({ network_id: NetworkId })

export class NetworksApi extends Endpoint.group(
  "networks",
  "/api/v1/networks",
  { title: "Networks", description: "Configurations of chains that relayers can be bound to." },
  Endpoint.post("create", "/", {
    scope: "networks:write",
    summary: "Create a network",
    description:
      "The network inherits every field that the request leaves out from the network in `from`, which must be of the same type. `rpc_urls` replace the inherited ones; `tags` and `features` are added to the inherited ones. RPC URLs are encrypted at rest and returned masked. A key with `transaction_limits` may not create, change or delete networks. No provider is asked, unless `check` is true: then `metadata.logs` names the RPC URLs that do not work, and why.",
    through: [Idempotency, RequestBody],
    query: CheckQuery,
    payload: Json.body(CreateNetwork),
    success: Envelope.created(Network),
    error: [Errors.NetworkIdTakenError, Errors.TransactionLimitExceededError],
    transform: Endpoint.versioned
  }),
  Endpoint.get("list", "/", {
    scope: "networks:read",
    summary: "List networks",
    description: "Built-in networks first, then created networks in creation order.",
    query: PageQuery,
    success: Envelope.pageOf(Network)
  }),
  Endpoint.get("get", "/:network_id", {
    scope: "networks:read",
    summary: "Get a network",
    description: "The id is the type and the name, such as `evm:sepolia`. Inherited fields are included.",
    params,
    success: Envelope.of(Network),
    error: Errors.NetworkNotFoundError,
    transform: Endpoint.versioned
  }),
  Endpoint.patch("update", "/:network_id", {
    scope: "networks:write",
    summary: "Change a network",
    description:
      "A merge patch (RFC 7396) of the fields that the network defines itself: absent fields stay, null removes a field so that the inherited value applies again. In a built-in network, a value overrides the built-in one, and null restores it. In `rpc_urls`, the n-th occurrence of a masked URL stands for the n-th stored URL with that mask.",
    through: [RequestBody],
    params,
    headers: Endpoint.ifMatch,
    payload: Json.mergePatch(UpdateNetwork),
    success: Envelope.of(Network),
    error: [Errors.NetworkNotFoundError, Errors.PreconditionFailedError, Errors.TransactionLimitExceededError],
    transform: Endpoint.versioned
  }),
  Endpoint.remove("delete", "/:network_id", {
    scope: "networks:write",
    summary: "Delete a network, or reset a built-in one",
    description:
      "Refused while relayers use the network or other networks inherit from it. A built-in network loses its overrides, also while it is in use.",
    params,
    headers: Endpoint.ifMatch,
    success: Envelope.deleted("Network deleted successfully", "Network reset successfully"),
    error: [
      Errors.NetworkNotFoundError,
      Errors.PreconditionFailedError,
      Errors.NetworkInUseError,
      Errors.TransactionLimitExceededError
    ]
  })
) {}

// The endpoint that shows the health of a network's RPC providers.

export class ProvidersApi extends Endpoint.group(
  "providers",
  "/api/v1/networks",
  { title: "Providers", description: "How the RPC providers of networks do." },
  Endpoint.get("list", "/:network_id/providers", {
    scope: "networks:read",
    summary: "List the providers of a network with their health",
    description:
      "The RPC URLs of the network, masked, each with what the last checks of relayers found, of all instances. No provider is asked, unless `check` is true: then each says now which chain it serves and what it can do.",
    params: Schema.Struct({ network_id: NetworkId }),
    query: ProvidersQuery,
    success: Envelope.listOf(NetworkProvider),
    error: Errors.NetworkNotFoundError
  })
) {}
