// Networks: list, read.
import { Schema } from "effect"
import { HttpApiEndpoint, HttpApiGroup, OpenApi } from "effect/http-api"
import { Network, NetworkId } from "../domain/Network.ts"
import { PageQuery } from "../domain/Page.ts"
import * as Envelope from "./Envelope.ts"
import * as Errors from "./Errors.ts"
import { Authorization, Debug, DecodeErrors, RateLimit } from "./Middleware.ts"

export class NetworksApi extends HttpApiGroup.make("networks")
  .add(
    HttpApiEndpoint.get("list", "/", {
      query: PageQuery,
      success: Envelope.pageOf(Network),
      error: Errors.any
    }).annotateMerge(OpenApi.annotations({ summary: "List networks" })),
    HttpApiEndpoint.get("get", "/:network_id", {
      params: Schema.Struct({ network_id: NetworkId }),
      success: Envelope.of(Network),
      error: [Errors.NetworkNotFoundError, ...Errors.any]
    }).annotateMerge(
      OpenApi.annotations({ summary: "Get a network", description: "By its id: type and name, such as `evm:sepolia`." })
    )
  )
  .middleware(Debug)
  .middleware(DecodeErrors)
  .middleware(RateLimit)
  .middleware(Authorization)
  .prefix("/api/v1/networks")
  .annotateMerge(
    OpenApi.annotations({ title: "Networks", description: "The networks that relayers can be bound to." })
  ) {}
