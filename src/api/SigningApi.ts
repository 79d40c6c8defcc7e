// The endpoints that sign messages and typed data with a relayer's key.
import { Schema } from "effect"
import { HttpApiEndpoint, HttpApiGroup, OpenApi } from "effect/http-api"
import { RelayerId } from "../domain/relayer/Relayer.ts"
import { EvmSignature, SignMessage, SignTypedData } from "../domain/transaction/evm/Signature.ts"
import * as Envelope from "./Envelope.ts"
import * as Errors from "./Errors.ts"
import * as Json from "./Json.ts"
import { Authorization, DecodeErrors, Idempotency, RequestBody } from "./Middleware.ts"
import { RequiredScope } from "./Scopes.ts"

const params = Schema.Struct({ relayer_id: RelayerId })

const error = [
  Errors.RelayerNotFoundError,
  Errors.RelayerPausedError,
  Errors.TransactionLimitExceededError,
  Errors.NotImplementedError,
  Errors.BadGatewayError,
  ...Errors.ofOutboundWork,
  ...Errors.any
] as const

export class SigningApi extends HttpApiGroup.make("signing")
  .add(
    HttpApiEndpoint.post("sign", "/:relayer_id/sign", {
      params,
      payload: Json.body(SignMessage),
      success: Envelope.of(EvmSignature),
      error
    })
      .middleware(Idempotency)
      .middleware(RequestBody)
      .annotate(RequiredScope, "transactions:sign")
      .annotateMerge(
        OpenApi.annotations({ summary: "Sign a message", description: "With the prefix of EIP-191. Audited." })
      ),
    HttpApiEndpoint.post("signTypedData", "/:relayer_id/sign-typed-data", {
      params,
      payload: Json.body(SignTypedData),
      success: Envelope.of(EvmSignature),
      error
    })
      .middleware(Idempotency)
      .middleware(RequestBody)
      .annotate(RequiredScope, "transactions:sign")
      .annotateMerge(
        OpenApi.annotations({
          summary: "Sign typed data",
          description:
            "EIP-712. Such a signature can move tokens (a permit, an order): no policy of the relayer limits it. Audited."
        })
      )
  )
  .middleware(DecodeErrors)
  .middleware(Authorization)
  .prefix("/api/v1/relayers")
  .annotateMerge(OpenApi.annotations({ title: "Signing", description: "Signatures with a relayer's key." })) {}
