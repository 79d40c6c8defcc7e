// Signers: create, list, read, verify, delete; they do not change. Keys go in and never come out.
import { Schema } from "effect"
import { HttpApiEndpoint, HttpApiGroup, OpenApi } from "effect/http-api"
import { PageQuery } from "../domain/request/Page.ts"
import { CreateSigner, Signer, SignerId, Verification } from "../domain/signer/Signer.ts"
import * as Envelope from "./Envelope.ts"
import * as Errors from "./Errors.ts"
import * as Json from "./Json.ts"
import { Authorization, DecodeErrors, Idempotency, RequestBody } from "./Middleware.ts"
import { RequiredScope } from "./Scopes.ts"

const params = Schema.Struct({ signer_id: SignerId })

export class SignersApi extends HttpApiGroup.make("signers")
  .add(
    HttpApiEndpoint.post("create", "/", {
      payload: Json.body(CreateSigner),
      success: Envelope.created(Signer),
      error: [Errors.SignerIdTakenError, ...Errors.ofOutboundWork, ...Errors.any]
    })
      .middleware(Idempotency)
      .middleware(RequestBody)
      .annotate(RequiredScope, "signers:write")
      .annotateMerge(
        OpenApi.annotations({
          summary: "Create a signer",
          description:
            "`plain`: with a 32-byte key of yours, or with one made inside the service when `config.key` is left out. `local`: with the key of a keystore (Web3 Secret Storage version 3), which is opened once. `vault`: with a key that lies in the key-value store of HashiCorp Vault and is read for each use. `vault_transit`: with an ed25519 key that never leaves Vault. Secrets are encrypted at rest and never returned."
        })
      ),
    HttpApiEndpoint.get("list", "/", {
      query: PageQuery,
      success: Envelope.pageOf(Signer),
      error: Errors.any
    })
      .annotate(RequiredScope, "signers:read")
      .annotateMerge(OpenApi.annotations({ summary: "List signers", description: "In creation order." })),
    HttpApiEndpoint.get("get", "/:signer_id", {
      params,
      success: Envelope.of(Signer),
      error: [Errors.SignerNotFoundError, ...Errors.any]
    })
      .annotate(RequiredScope, "signers:read")
      .annotateMerge(OpenApi.annotations({ summary: "Get a signer" })),
    HttpApiEndpoint.delete("delete", "/:signer_id", {
      params,
      success: Envelope.of(Schema.Literal("Signer deleted successfully")),
      error: [Errors.SignerNotFoundError, Errors.SignerInUseError, ...Errors.any]
    })
      .annotate(RequiredScope, "signers:write")
      .annotateMerge(
        OpenApi.annotations({
          summary: "Delete a signer",
          description: "Refused while relayers use it; `error` names them. The key is gone for good."
        })
      ),
    HttpApiEndpoint.post("verify", "/:signer_id/verify", {
      params,
      success: Envelope.of(Verification),
      error: [Errors.SignerNotFoundError, ...Errors.ofOutboundWork, ...Errors.any]
    })
      .middleware(Idempotency)
      .annotate(RequiredScope, "signers:write")
      .annotateMerge(
        OpenApi.annotations({
          summary: "Verify a signer",
          description:
            "On each curve of the signer: fetches the public key, which must be that of the addresses, has a random probe signed, and verifies the signature. Answers 200 also where a step has failed: `verified` tells, and `steps` which one and why."
        })
      )
  )
  .middleware(DecodeErrors)
  .middleware(Authorization)
  .prefix("/api/v1/signers")
  .annotateMerge(
    OpenApi.annotations({ title: "Signers", description: "Holders of the keys that relayers sign with." })
  ) {}
