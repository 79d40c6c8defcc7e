// The handlers of `EventsApi`.
import { Effect, Stream } from "effect"
import { HttpServerResponse } from "effect/http"
import type { HttpServerRequest } from "effect/http"
import { HttpApiBuilder } from "effect/http-api"
import { Api } from "../../api/Api.ts"
import type { EventQuery } from "../../domain/event/Event.ts"
import { Authentication, bearerToken } from "../authentication/Authentication.ts"
import * as GroupServices from "../responses/GroupServices.ts"
import { currentAddress, setHeader } from "../responses/CurrentRequest.ts"
import * as Respond from "../responses/Respond.ts"
import { preferredType } from "../responses/Respond.ts"
import { EventFeed } from "./EventFeed.ts"
import { EventStreams } from "./EventStreams.ts"

const use = {
  group: "events",
  endpoint: "list",
  method: "GET",
  route: "/api/v1/events",
  scope: "events:read"
} as const

/**
 * Checks whether the API key of the current request is still valid for it. True while the database is unavailable, so that an
 * outage closes no stream.
 */
const stillAllowed = (authentication: Authentication["Service"]) =>
  Effect.map(Effect.all([currentAddress, bearerToken]), ([from, token]) =>
    authentication.authenticate(token, { ...use, relayerId: undefined, from }).pipe(
      Effect.as(true),
      Effect.orElseSucceed(() => false),
      Effect.catchDefect(() => Effect.succeed(true))
    )
  )

const wantsStream = ({ headers }: HttpServerRequest.HttpServerRequest) =>
  preferredType(headers.accept, ["application/json", "text/event-stream"]) === "text/event-stream"

/** Proxies must not store or buffer the stream. Its connection closes with it, so that it does not delay a process that stops. */
const headers = { "cache-control": "no-store", "x-accel-buffering": "no", connection: "close" }

const respond = (frames: Stream.Stream<string>) =>
  HttpServerResponse.stream(Stream.encodeText(frames), { contentType: "text/event-stream", headers })

const negotiated = <A, E, R>(self: Effect.Effect<A, E, R>) => Effect.andThen(setHeader("vary", "Accept"), self)

export const EventsHttp = HttpApiBuilder.group(
  Api,
  "events",
  Effect.fnUntraced(function* (handlers) {
    const feed = yield* EventFeed
    const streams = yield* EventStreams
    const authentication = yield* Authentication

    const stream = Effect.fnUntraced(function* (query: EventQuery) {
      return respond(yield* streams.open(query, yield* stillAllowed(authentication)))
    })

    return handlers.handleAll({
      list: ({ query, headers, request }) => {
        const lastEventId = headers["last-event-id"]
        const all: EventQuery = { ...query, ...(lastEventId === undefined ? {} : { lastEventId }) }
        return wantsStream(request)
          ? negotiated(stream(all))
          : negotiated(Respond.items(feed.list(all), query.before === undefined ? "after" : "before"))
      }
    })
  })
).pipe(GroupServices.limitTo(EventFeed, EventStreams, Authentication))
