// The endpoint that signs transactions which callers send themselves.
import { Schema } from "effect"
import { HttpApiEndpoint, HttpApiGroup, OpenApi } from "effect/http-api"
import { RelayerId } from "../domain/relayer/Relayer.ts"
import { SignedSolanaTransaction, SignSolanaTransaction } from "../domain/transaction/solana/SolanaExchanges.ts"
import { SignedStellarTransaction, SignStellarTransaction } from "../domain/transaction/stellar/StellarExchanges.ts"
import * as Envelope from "./Envelope.ts"
import * as Errors from "./Errors.ts"
import * as Json from "./Json.ts"
import { Authorization, DecodeErrors, Idempotency, RequestBody } from "./Middleware.ts"
import { RequiredScope } from "./Scopes.ts"

// A network type adds its schemas to these two unions, and its `signing` to its intake (`server/transactions/Intake.ts`).

const SignTransaction = Schema.Union([SignSolanaTransaction, SignStellarTransaction]).annotate({
  identifier: "SignTransactionRequest",
  description: "A transaction to sign without sending it, as the network type of the relayer has it."
})

const SignedTransaction = Schema.Union([SignedSolanaTransaction, SignedStellarTransaction]).annotate({
  identifier: "SignedTransaction",
  description: "A signed transaction, as the network type of the relayer has it."
})

export class TransactionSigningApi extends HttpApiGroup.make("transactionSigning")
  .add(
    HttpApiEndpoint.post("signTransaction", "/:relayer_id/sign-transaction", {
      params: Schema.Struct({ relayer_id: RelayerId }),
      payload: Json.body(SignTransaction),
      success: Envelope.of(SignedTransaction),
      error: [
        Errors.RelayerNotFoundError,
        Errors.RelayerPausedError,
        Errors.TransactionLimitExceededError,
        Errors.TransactionConflictError,
        Errors.NotImplementedError,
        Errors.BadGatewayError,
        ...Errors.ofOutboundWork,
        ...Errors.any
      ]
    })
      .middleware(Idempotency)
      .middleware(RequestBody)
      .annotate(RequiredScope, "transactions:sign")
      .annotateMerge(
        OpenApi.annotations({
          summary: "Sign a transaction",
          description:
            "The caller sends it. It passes all rules of a send, and its fee counts for the limits of the API key, landed or not. It is stored before the response, and the same bytes are signed once: the same request again returns them. 409 if a transaction of the service has the same bytes. Audited."
        })
      )
  )
  .middleware(DecodeErrors)
  .middleware(Authorization)
  .prefix("/api/v1/relayers")
  .annotateMerge(
    OpenApi.annotations({ title: "Transaction signing", description: "Transactions that callers send themselves." })
  ) {}
