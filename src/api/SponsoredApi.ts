// The endpoints of transactions whose users pay the fees in a token.
import { Schema } from "effect"
import { HttpApiEndpoint, HttpApiGroup, OpenApi } from "effect/http-api"
import { RelayerId } from "../domain/relayer/Relayer.ts"
import {
  BuildSolanaTransaction,
  BuiltSolanaTransaction,
  QuoteSolanaTransaction,
  SolanaQuote
} from "../domain/transaction/solana/SolanaExchanges.ts"
import {
  BuildStellarTransaction,
  BuiltStellarTransaction,
  QuoteStellarTransaction,
  StellarQuote
} from "../domain/transaction/stellar/StellarExchanges.ts"
import * as Envelope from "./Envelope.ts"
import * as Errors from "./Errors.ts"
import * as Json from "./Json.ts"
import { Authorization, DecodeErrors, OutboundLimit, RequestBody } from "./Middleware.ts"
import { RequiredScope } from "./Scopes.ts"

// A network type adds its schemas to these four unions, and `quote` and `build` to its intake (`server/transactions/Intake.ts`).

const Quoting = Schema.Union([QuoteSolanaTransaction, QuoteStellarTransaction]).annotate({
  identifier: "QuoteSponsoredTransactionRequest",
  description: "A transaction whose fee is to be quoted, as the network type of the relayer has it."
})

const Quote = Schema.Union([SolanaQuote, StellarQuote]).annotate({
  identifier: "SponsoredTransactionQuote",
  description: "What a transaction costs its user, as the network type of the relayer has it."
})

const Building = Schema.Union([BuildSolanaTransaction, BuildStellarTransaction]).annotate({
  identifier: "BuildSponsoredTransactionRequest",
  description: "A transaction to build, as the network type of the relayer has it."
})

const Built = Schema.Union([BuiltSolanaTransaction, BuiltStellarTransaction]).annotate({
  identifier: "SponsoredTransaction",
  description: "A transaction for the user to sign, as the network type of the relayer has it."
})

const params = Schema.Struct({ relayer_id: RelayerId })

const error = [
  Errors.RelayerNotFoundError,
  Errors.NotImplementedError,
  Errors.BadGatewayError,
  ...Errors.ofOutboundWork,
  ...Errors.any
] as const

export class SponsoredApi extends HttpApiGroup.make("sponsored")
  .add(
    HttpApiEndpoint.post("quote", "/:relayer_id/transactions/sponsored/quote", {
      params,
      payload: Json.body(Quoting),
      success: Envelope.of(Quote),
      error
    })
      .middleware(RequestBody)
      .middleware(OutboundLimit)
      .annotate(RequiredScope, "transactions:read")
      .annotateMerge(
        OpenApi.annotations({
          summary: "Quote the fee of a user's transaction in a token",
          description:
            "The highest fee of the transaction with the relayer's margin, at the price of now. Nothing is stored. 502 with `price_unavailable` if there is no price."
        })
      ),
    HttpApiEndpoint.post("build", "/:relayer_id/transactions/sponsored/build", {
      params,
      payload: Json.body(Building),
      success: Envelope.of(Built),
      error: [Errors.RelayerPausedError, Errors.TransactionLimitExceededError, ...error]
    })
      .middleware(RequestBody)
      .middleware(OutboundLimit)
      .annotate(RequiredScope, "transactions:read")
      .annotateMerge(
        OpenApi.annotations({
          summary: "Build a user's transaction with a payment to the relayer",
          description:
            "The user signs it, and sends it with `POST …/transactions`. Nothing is stored, and nothing of it is trusted later: the payment is verified before the relayer signs."
        })
      )
  )
  .middleware(DecodeErrors)
  .middleware(Authorization)
  .prefix("/api/v1/relayers")
  .annotateMerge(
    OpenApi.annotations({ title: "Sponsored transactions", description: "Users pay the relayer in a token." })
  ) {}
