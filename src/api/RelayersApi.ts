// Relayers: create, list, read.
import { Schema } from "effect"
import { HttpApiEndpoint, HttpApiGroup, HttpApiSchema, OpenApi } from "effect/http-api"
import { PageQuery } from "../domain/Page.ts"
import { CreateRelayer, Relayer, RelayerId } from "../domain/Relayer.ts"
import * as Envelope from "./Envelope.ts"
import * as Errors from "./Errors.ts"
import * as Json from "./Json.ts"
import { Authorization, Debug, DecodeErrors, RateLimit } from "./Middleware.ts"

export class RelayersApi extends HttpApiGroup.make("relayers")
  .add(
    HttpApiEndpoint.post("create", "/", {
      payload: Json.body(CreateRelayer),
      success: Envelope.of(Relayer).pipe(HttpApiSchema.status(201)),
      error: [Errors.RelayerIdTakenError, ...Errors.withBody]
    }).annotateMerge(
      OpenApi.annotations({
        summary: "Create a relayer",
        description:
          "Signer, network and notification must exist, and a signer serves one relayer per network. The address is the signer's on that network type."
      })
    ),
    HttpApiEndpoint.get("list", "/", {
      query: PageQuery,
      success: Envelope.pageOf(Relayer),
      error: Errors.any
    }).annotateMerge(
      OpenApi.annotations({ summary: "List relayers", description: "In creation order. A page past the end is empty." })
    ),
    HttpApiEndpoint.get("get", "/:relayer_id", {
      params: Schema.Struct({ relayer_id: RelayerId }),
      success: Envelope.of(Relayer),
      error: [Errors.RelayerNotFoundError, ...Errors.any]
    }).annotateMerge(OpenApi.annotations({ summary: "Get a relayer" }))
  )
  .middleware(Debug)
  .middleware(DecodeErrors)
  .middleware(RateLimit)
  .middleware(Authorization)
  .prefix("/api/v1/relayers")
  .annotateMerge(
    OpenApi.annotations({ title: "Relayers", description: "Workers bound to one network and one signer." })
  ) {}
