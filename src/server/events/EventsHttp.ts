// The handlers of `EventsApi`.
import { Effect, Stream } from "effect"
import { HttpServerResponse } from "effect/http"
import type { HttpServerRequest } from "effect/http"
import { HttpApiBuilder } from "effect/http-api"
import { Api } from "../../api/Api.ts"
import type { EventQuery } from "../../domain/event/Event.ts"
import { Authentication } from "../authentication/Authentication.ts"
import * as Respond from "../responses/Respond.ts"
import { EventFeed } from "./EventFeed.ts"
import { EventStreams } from "./EventStreams.ts"
import * as StillAllowed from "./StillAllowed.ts"

const use = { group: "events", endpoint: "list", scope: "events:read" } as const

const wantsStream = ({ headers }: HttpServerRequest.HttpServerRequest) =>
  /\btext\/event-stream\b/i.test(headers.accept ?? "")

/** No proxy may keep it or hold it back; its connection ends with it, so that a process that stops is not held up. */
const headers = { "cache-control": "no-store", "x-accel-buffering": "no", connection: "close" }

const answer = (frames: Stream.Stream<string>) =>
  HttpServerResponse.stream(Stream.encodeText(frames), { contentType: "text/event-stream", headers })

export const EventsHttp = HttpApiBuilder.group(
  Api,
  "events",
  Effect.fnUntraced(function* (handlers) {
    const feed = yield* EventFeed
    const streams = yield* EventStreams
    const authentication = yield* Authentication

    const stream = Effect.fnUntraced(function* (query: EventQuery) {
      return answer(yield* streams.open(query, yield* StillAllowed.of(authentication, use)))
    })

    return handlers.handleAll({
      list: ({ query, headers, request }) => {
        const lastEventId = headers["last-event-id"]
        const asked: EventQuery = { ...query, ...(lastEventId === undefined ? {} : { lastEventId }) }
        return wantsStream(request) ? stream(asked) : Respond.items(feed.list(asked), "after")
      }
    })
  })
)
