// The endpoint that finds a resource by what a person has at hand.
import { HttpApiEndpoint, HttpApiGroup, OpenApi } from "effect/http-api"
import { FoundItem, SearchQuery } from "../domain/search/Search.ts"
import * as Envelope from "./Envelope.ts"
import * as Errors from "./Errors.ts"
import { Authorization, DecodeErrors } from "./Middleware.ts"
import { EveryCaller } from "./Scopes.ts"

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
