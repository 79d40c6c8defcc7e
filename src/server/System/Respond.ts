// How handlers answer: the envelope around what a service returns.
import { Effect } from "effect"
import { HttpEffect, HttpServerResponse } from "effect/http"
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

/** `path`: of the collection. */
export const created = <A extends { readonly id: string }, E, R>(path: `/${string}`, self: Effect.Effect<A, E, R>) =>
  one(
    Effect.tap(self, ({ id }) =>
      HttpEffect.appendPreResponseHandler((_, response) =>
        Effect.succeed(HttpServerResponse.setHeader(response, "location", `${path}/${id}`))
      )
    )
  )
