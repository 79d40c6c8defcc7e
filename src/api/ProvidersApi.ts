// The endpoint that shows the health of a network's RPC providers.
import { Schema } from "effect"
import { HttpApiEndpoint, HttpApiGroup, OpenApi } from "effect/http-api"
import { NetworkId } from "../domain/network/NetworkId.ts"
import { NetworkProvider, ProvidersQuery } from "../domain/network/NetworkProvider.ts"
import * as Envelope from "./Envelope.ts"
import * as Errors from "./Errors.ts"
import { Authorization, DecodeErrors } from "./Middleware.ts"
import { RequiredScope } from "./Scopes.ts"

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
