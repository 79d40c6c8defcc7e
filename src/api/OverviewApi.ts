// The endpoints of what an operator looks at first: what needs attention, the running instances, numbers, a search.
import { Schema } from "effect"
import { AttentionItem } from "../domain/attention/Attention.ts"
import { field, shown } from "../domain/request/Field.ts"
import { Instant } from "../domain/request/Shown.ts"
import { FoundItem, SearchQuery } from "../domain/search/Search.ts"
import { StatisticsQuery, TransactionStatistics } from "../networks/core/TransactionRequests.ts"
import * as Endpoint from "./Endpoint.ts"
import * as Envelope from "./Envelope.ts"
import * as Errors from "./Errors.ts"
import { JobStatus } from "./SystemApi.ts"

export class AttentionApi extends Endpoint.group(
  "attention",
  "/api/v1/attention",
  {
    title: "Attention",
    description: "What is wrong, since when, what it holds back, and what helps."
  },
  Endpoint.get("list", "/", {
    scope: "relayers:read",
    summary: "List what needs attention",
    description:
      "At most 50 items, the most important first; none if nothing needs attention. What names the same host of an RPC provider is one item, at the place of its most important part. Transactions are counted with `transactions:read`, receivers are shown with `notifications:read`, API keys with `api-keys:read`, rows of signers and networks that cannot be verified with `signers:read` and `networks:read`; a key that is limited to relayers sees theirs. Items are those of all instances, except for `service`. A response may be two seconds old.",
    success: Envelope.listOf(AttentionItem)
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

export class InstancesApi extends Endpoint.group(
  "instances",
  "/api/v1/instances",
  { title: "Instances", description: "Processes that share the database." },
  Endpoint.get("list", "/", {
    scope: "relayers:read",
    summary: "List instances",
    description:
      "The processes that share the database, the one that started first at the beginning. One that stops is removed, and one that was killed after an hour.",
    success: Envelope.listOf(Instance)
  })
) {}

// The endpoint that returns the numbers of the console's overview.

export class StatisticsApi extends Endpoint.group(
  "statistics",
  "/api/v1/statistics",
  { title: "Statistics", description: "Numbers of transactions over time." },
  Endpoint.get("get", "/", {
    scope: "transactions:read",
    summary: "Get statistics of transactions",
    description:
      "How many transactions became final in each step, for at most seven days, how long they took to be confirmed, and how many are open now. A series that begins more than six hours ago has steps of whole quarters of an hour; its times are accurate to 10 %. They are those of all instances. A key that is limited to relayers sees theirs. A response may be two seconds old.",
    query: StatisticsQuery,
    success: Envelope.of(TransactionStatistics),
    error: Errors.RelayerNotFoundError
  })
) {}

// The endpoint that finds a resource by what a person has at hand.

export class SearchApi extends Endpoint.group(
  "search",
  "/api/v1/search",
  { title: "Search", description: "Finds resources by ids, hashes and addresses." },
  Endpoint.get("find", "/", {
    scope: "every caller",
    summary: "Find a resource",
    description:
      "At most 20 resources that fit `q`, and only of the kinds that the API key may read: each kind needs its scope of reading. Every key may ask. Ids, hashes, addresses and `external_id` are compared as a whole, names of relayers by their beginning.",
    query: SearchQuery,
    success: Envelope.listOf(FoundItem)
  })
) {}
