// The list of the transactions of all relayers.
import { HttpApiEndpoint, HttpApiGroup, OpenApi } from "effect/http-api"
import { AllTransactionsQuery } from "../domain/transaction/TransactionRequests.ts"
import { linked } from "./document/Operation.ts"
import * as Envelope from "./Envelope.ts"
import * as Errors from "./Errors.ts"
import { Authorization, DecodeErrors } from "./Middleware.ts"
import { RequiredScope } from "./Scopes.ts"
import { TransactionResponse } from "./TransactionsApi.ts"

export class AllTransactionsApi extends HttpApiGroup.make("allTransactions")
  .add(
    HttpApiEndpoint.get("list", "/", {
      query: AllTransactionsQuery,
      success: Envelope.listOf(TransactionResponse),
      error: Errors.any
    })
      .annotate(RequiredScope, "transactions:read")
      .annotateMerge(
        OpenApi.annotations({
          summary: "List transactions of all relayers",
          description:
            "Newest first, and only of relayers that the API key can use. The `Link` header leads to the next page by `cursor`.",
          transform: linked
        })
      )
  )
  .middleware(DecodeErrors)
  .middleware(Authorization)
  .prefix("/api/v1/transactions")
  .annotateMerge(
    OpenApi.annotations({ title: "Transactions of all relayers", description: "Transactions across relayers." })
  ) {}
