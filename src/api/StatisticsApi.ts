// The endpoint that returns the numbers of the console's overview.
import { HttpApiEndpoint, HttpApiGroup, OpenApi } from "effect/http-api"
import { StatisticsQuery, TransactionStatistics } from "../domain/transaction/Statistics.ts"
import * as Envelope from "./Envelope.ts"
import * as Errors from "./Errors.ts"
import { Authorization, DecodeErrors } from "./Middleware.ts"
import { RequiredScope } from "./Scopes.ts"

export class StatisticsApi extends HttpApiGroup.make("statistics")
  .add(
    HttpApiEndpoint.get("get", "/", {
      query: StatisticsQuery,
      success: Envelope.of(TransactionStatistics),
      error: [Errors.RelayerNotFoundError, ...Errors.any]
    })
      .annotate(RequiredScope, "transactions:read")
      .annotateMerge(
        OpenApi.annotations({
          summary: "Get statistics of transactions",
          description:
            "How many transactions became final in each step, for at most seven days, how long they took to be confirmed, and how many are open now. A series that begins more than six hours ago has steps of whole quarters of an hour; its times are accurate to 10 %. They are those of all instances. A key that is limited to relayers sees theirs. A response may be two seconds old."
        })
      )
  )
  .middleware(DecodeErrors)
  .middleware(Authorization)
  .prefix("/api/v1/statistics")
  .annotateMerge(OpenApi.annotations({ title: "Statistics", description: "Numbers of transactions over time." })) {}
