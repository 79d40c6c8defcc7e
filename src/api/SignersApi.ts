// Signers: create, list, read. Keys go in and never come out.
import { Schema } from "effect"
import { HttpApiEndpoint, HttpApiGroup, HttpApiSchema, OpenApi } from "effect/http-api"
import { PageQuery } from "../domain/Page.ts"
import { CreateSigner, Signer, SignerId } from "../domain/Signer.ts"
import * as Envelope from "./Envelope.ts"
import * as Errors from "./Errors.ts"
import * as Json from "./Json.ts"
import { Authorization, Debug, DecodeErrors, RateLimit } from "./Middleware.ts"

export class SignersApi extends HttpApiGroup.make("signers")
  .add(
    HttpApiEndpoint.post("create", "/", {
      payload: Json.body(CreateSigner),
      success: Envelope.of(Signer).pipe(HttpApiSchema.status(201)),
      error: [Errors.SignerIdTakenError, ...Errors.withBody]
    }).annotateMerge(
      OpenApi.annotations({
        summary: "Create a signer",
        description:
          "With a 32-byte key of yours, or with one made inside the service when `config.key` is left out. Keys are encrypted at rest and never returned."
      })
    ),
    HttpApiEndpoint.get("list", "/", {
      query: PageQuery,
      success: Envelope.pageOf(Signer),
      error: Errors.any
    }).annotateMerge(OpenApi.annotations({ summary: "List signers", description: "In creation order." })),
    HttpApiEndpoint.get("get", "/:signer_id", {
      params: Schema.Struct({ signer_id: SignerId }),
      success: Envelope.of(Signer),
      error: [Errors.SignerNotFoundError, ...Errors.any]
    }).annotateMerge(OpenApi.annotations({ summary: "Get a signer" }))
  )
  .middleware(Debug)
  .middleware(DecodeErrors)
  .middleware(RateLimit)
  .middleware(Authorization)
  .prefix("/api/v1/signers")
  .annotateMerge(
    OpenApi.annotations({ title: "Signers", description: "Holders of the keys that relayers sign with." })
  ) {}
