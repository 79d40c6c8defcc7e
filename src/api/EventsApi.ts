// The endpoint of events: a list, or a stream of Server-Sent Events.
import { Schema, flow } from "effect"
import { HttpApiEndpoint, HttpApiGroup, OpenApi } from "effect/http-api"
import { Event, EventQuery } from "../domain/event/Event.ts"
import { count } from "../domain/request/Page.ts"
import { linked, streamed } from "./document/Operation.ts"
import * as Envelope from "./Envelope.ts"
import * as Errors from "./Errors.ts"
import { Authorization, DecodeErrors } from "./Middleware.ts"
import { RequiredScope } from "./Scopes.ts"

const stream = {
  description:
    "Server-Sent Events without end. Each event has its `id`, its type as `event`, and the event as in the list as `data`. A comment every 15 seconds keeps the connection alive.",
  example:
    'retry: 2000\n\nid: 7\nevent: relayer.paused\ndata: {"id":7,"type":"relayer.paused","resource_id":"payouts","at":"2026-01-02T03:04:05.678Z","data":{}}\n\n'
}

const resumption = Schema.Struct({
  "last-event-id": Schema.optionalKey(
    count("Like `after`, and takes precedence over it. `EventSource` sends it when it reconnects.", 42)
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
            "Events have one order, without gaps and without late insertions. A reader that continues after the last event, by the `Link` header or with `after`, gets each event once. A response holds up to `limit` events, and ends at about 1 MiB. There is always a next page, which may be empty: `wait` waits for its first event. With `Accept: text/event-stream`, the response is an endless stream of Server-Sent Events: first the past events, then each new event. Reconnect with `Last-Event-ID`, as `EventSource` does. Old events are deleted: a reader that continues from one of them gets 400, which names the oldest position to continue from. The service closes a stream whose reader takes no events for 30 seconds. An API key may have 20 streams open on an instance; the next one gets 429. With `before`, a response has the past, the newest event first: `before=latest` has the newest events, and the `Link` header leads to older ones until there are none. An API key that is limited to some relayers gets only events about these relayers and their transactions.",
          transform: flow(linked, streamed(stream))
        })
      )
  )
  .middleware(DecodeErrors)
  .middleware(Authorization)
  .prefix("/api/v1/events")
  .annotateMerge(
    OpenApi.annotations({
      title: "Events",
      description: "Facts that the service publishes about its resources, in one order."
    })
  ) {}
