// Events: what has happened, page by page or as a stream.
import { Schema } from "effect"
import { HttpApiEndpoint, HttpApiGroup, OpenApi } from "effect/http-api"
import { Event, EventQuery } from "../domain/event/Event.ts"
import { Count } from "../domain/request/Page.ts"
import * as Envelope from "./Envelope.ts"
import * as Errors from "./Errors.ts"
import { Authorization, DecodeErrors } from "./Middleware.ts"
import { RequiredScope } from "./Scopes.ts"

const resumption = Schema.Struct({
  "last-event-id": Schema.optionalKey(
    Count.annotateKey({ description: "As `after`, which it wins over: sent by whoever takes up a stream again." })
  )
})

export class EventsApi extends HttpApiGroup.make("events")
  .add(
    HttpApiEndpoint.get("list", "/", {
      query: EventQuery,
      headers: resumption,
      success: Envelope.listOf(Event),
      error: Errors.any
    })
      .annotate(RequiredScope, "events:read")
      .annotateMerge(
        OpenApi.annotations({
          summary: "List events, or follow them",
          description:
            "In an order in which nothing is missing and nothing comes in between later: who goes on after the last event, by the `Link` header or with `after`, gets each event once. An answer holds `limit` events, 100 by default and 1000 at most. There always is a next page, which may still be empty: `wait` waits for its first event, 25 seconds at most. With `Accept: text/event-stream` the same as Server-Sent Events, without an end: what has been, then what happens. Reconnect with `Last-Event-ID`, as `EventSource` does by itself. A reader that does not take its events is cut off after 30 seconds. A key that is limited to relayers sees the events of these."
        })
      )
  )
  .middleware(DecodeErrors)
  .middleware(Authorization)
  .prefix("/api/v1/events")
  .annotateMerge(
    OpenApi.annotations({ title: "Events", description: "What has happened to relayers and all the others." })
  ) {}
