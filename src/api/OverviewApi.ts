// The endpoints of what an operator looks at first: what needs attention, the running instances, numbers, a search.
import { Schema } from "effect"
import { HttpApiEndpoint, HttpApiGroup, OpenApi } from "effect/http-api"
import { AttentionItem } from "../domain/attention/Attention.ts"
import { field, shown } from "../domain/request/Field.ts"
import { Instant } from "../domain/request/Shown.ts"
import { FoundItem, SearchQuery } from "../domain/search/Search.ts"
import { StatisticsQuery, TransactionStatistics } from "../networks/core/TransactionRequests.ts"
import { EveryCaller, RequiredScope } from "./Endpoint.ts"
import * as Envelope from "./Envelope.ts"
import * as Errors from "./Errors.ts"
import { Authorization, DecodeErrors } from "./Middleware.ts"
import { JobStatus } from "./SystemApi.ts"

export class AttentionApi extends HttpApiGroup.make("attention")
  .add(
    HttpApiEndpoint.get("list", "/", {
      success: Envelope.listOf(AttentionItem),
      error: Errors.any
    })
      .annotate(RequiredScope, "relayers:read")
      .annotateMerge(
        OpenApi.annotations({
          summary: "List what needs attention",
          description:
            "At most 50 items, the most important first; none if nothing needs attention. What names the same host of an RPC provider is one item, at the place of its most important part. Transactions are counted with `transactions:read`, receivers are shown with `notifications:read`, API keys with `api-keys:read`, rows of signers and networks that cannot be verified with `signers:read` and `networks:read`; a key that is limited to relayers sees theirs. Items are those of all instances, except for `service`. A response may be two seconds old."
        })
      )
  )
  .middleware(DecodeErrors)
  .middleware(Authorization)
  .prefix("/api/v1/attention")
  .annotateMerge(
    OpenApi.annotations({
      title: "Attention",
      description: "What is wrong, since when, what it holds back, and what helps."
    })
  ) {}

// The endpoint that lists the running instances of the service.

const at = "2026-01-02T03:04:05.678Z"

export const Instance = Schema.Struct({
  id: field(Schema.String, "Identifies the process, until it ends.", "4f1c2c9e-8f0b-4c56-9d5e-0a7b1f1f2a3b"),
  version: field(Schema.String, "Version of the service that it runs.", "0.1.0"),
  started_at: field(Instant, "When it started, by the clock of the database.", at),
  last_seen_at: field(
    Instant,
    "When it last wrote that it runs, which it does every ten seconds. One that was killed is listed for an hour.",
    at
  ),
  jobs: field(Schema.Record(Schema.String, JobStatus), "Its background jobs, by name.", { lanes: "healthy" }),
  lanes_held: shown(
    Schema.Natural,
    "Accounts whose transactions it sends now. Absent for a key that is limited to relayers.",
    12
  ),
  is_this: field(Schema.Boolean, "Whether it is the one that answers.", true)
}).annotate({ identifier: "Instance", description: "A running process of the service." })
export type Instance = typeof Instance.Type

export class InstancesApi extends HttpApiGroup.make("instances")
  .add(
    HttpApiEndpoint.get("list", "/", { success: Envelope.listOf(Instance), error: Errors.any })
      .annotate(RequiredScope, "relayers:read")
      .annotateMerge(
        OpenApi.annotations({
          summary: "List instances",
          description:
            "The processes that share the database, the one that started first at the beginning. One that stops is removed, and one that was killed after an hour."
        })
      )
  )
  .middleware(DecodeErrors)
  .middleware(Authorization)
  .prefix("/api/v1/instances")
  .annotateMerge(OpenApi.annotations({ title: "Instances", description: "Processes that share the database." })) {}

// The endpoint that returns the numbers of the console's overview.

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

// The endpoint that finds a resource by what a person has at hand.

export class SearchApi extends HttpApiGroup.make("search")
  .add(
    HttpApiEndpoint.get("find", "/", {
      query: SearchQuery,
      success: Envelope.listOf(FoundItem),
      error: Errors.any
    })
      .annotate(EveryCaller, true)
      .annotateMerge(
        OpenApi.annotations({
          summary: "Find a resource",
          description:
            "At most 20 resources that fit `q`, and only of the kinds that the API key may read: each kind needs its scope of reading. Every key may ask. Ids, hashes, addresses and `external_id` are compared as a whole, names of relayers by their beginning."
        })
      )
  )
  .middleware(DecodeErrors)
  .middleware(Authorization)
  .prefix("/api/v1/search")
  .annotateMerge(
    OpenApi.annotations({ title: "Search", description: "Finds resources by ids, hashes and addresses." })
  ) {}
