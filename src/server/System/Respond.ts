// How handlers answer: the envelope around what a service returns.
import { Effect } from "effect"
import { HttpEffect, HttpServerResponse } from "effect/http"
import type { HttpServerRequest } from "effect/http"
import * as Envelope from "../../api/Envelope.ts"
import type { Page } from "../../domain/Page.ts"
import { CurrentRecording } from "./DebugHttp.ts"

/** Read when the service is done, so that its spans have ended. */
const metadata = Effect.map(CurrentRecording, (recording) => (recording === undefined ? {} : { metadata: recording() }))

export const one = <A, E, R>(self: Effect.Effect<A, E, R>) =>
  Effect.flatMap(self, (data) => Effect.map(metadata, (extra) => ({ success: true as const, data, ...extra })))

export const page = <A, E, R>(self: Effect.Effect<Page<A>, E, R>) =>
  Effect.flatMap(self, (served) =>
    Effect.map(metadata, (extra) => ({
      success: true as const,
      data: served.items,
      pagination: Envelope.pagination(served),
      ...extra
    }))
  )

/** The path that the caller used, also where a host serves the API under a prefix. */
const collection = (request: HttpServerRequest.HttpServerRequest): string => {
  const path = request.originalUrl.replace(/^https?:\/\/[^/]*/i, "").replace(/[?#].*$/, "")
  return path.replace(/\/+$/, "")
}

/** With `Location`: the collection that was posted to, and the new id. */
export const created = <A extends { readonly id: string }, E, R>(self: Effect.Effect<A, E, R>) =>
  one(
    Effect.tap(self, ({ id }) =>
      HttpEffect.appendPreResponseHandler((request, response) =>
        Effect.succeed(HttpServerResponse.setHeader(response, "location", `${collection(request)}/${id}`))
      )
    )
  )
