// The endpoint that shows the base fees of the blocks that could have contained a transaction.
import { Schema } from "effect"
import { HttpApiEndpoint, HttpApiGroup, OpenApi } from "effect/http-api"
import { RelayerId } from "../domain/relayer/Relayer.ts"
import { TransactionFees } from "../domain/transaction/evm/BlockFees.ts"
import { TransactionId } from "../domain/transaction/TransactionId.ts"
import * as Envelope from "./Envelope.ts"
import * as Errors from "./Errors.ts"
import { Authorization, DecodeErrors, OutboundLimit } from "./Middleware.ts"
import { RequiredScope } from "./Scopes.ts"

export class FeesApi extends HttpApiGroup.make("fees")
  .add(
    HttpApiEndpoint.get("ofTransaction", "/:relayer_id/transactions/:transaction_id/fees", {
      params: Schema.Struct({ relayer_id: RelayerId, transaction_id: TransactionId }),
      success: Envelope.of(TransactionFees),
      error: [
        Errors.RelayerNotFoundError,
        Errors.TransactionNotFoundError,
        Errors.NotImplementedError,
        Errors.BadGatewayError,
        ...Errors.ofOutboundWork,
        ...Errors.any
      ]
    })
      .middleware(OutboundLimit)
      .annotate(RequiredScope, "transactions:read")
      .annotateMerge(
        OpenApi.annotations({
          summary: "Get the base fees of a transaction's blocks",
          description:
            "Asks a provider of the relayer for the base fees of the blocks from the acceptance of the transaction until it was mined, or until now: beside the fees of its attempts they show why it waited. What it answers for a final transaction is remembered for an hour. Relayers on evm only."
        })
      )
  )
  .middleware(DecodeErrors)
  .middleware(Authorization)
  .prefix("/api/v1/relayers")
  .annotateMerge(
    OpenApi.annotations({ title: "Fees", description: "Base fees of the blocks that could have had a transaction." })
  ) {}
