// Builds responses of handlers: puts the result of a service into an envelope.
import { Effect } from "effect"
import { HttpServerRequest, HttpServerResponse } from "effect/http"
import * as Envelope from "../../api/Envelope.ts"
import type { Items, Page, Unreadable } from "../../domain/request/Page.ts"
import { BadRequest } from "../../domain/request/Request.ts"
import { entityTag } from "../../domain/request/Version.ts"
import type { Versioned } from "../../domain/request/Version.ts"
import { CurrentRecording } from "./Recording.ts"
import { maxNumberedBytes } from "../../sql/FittingRows.ts"
import { setHeader } from "./CurrentRequest.ts"

interface Recorded {
  readonly metadata?: Envelope.Metadata
}

const recorded = (recording: (() => Envelope.Metadata) | undefined): Recorded =>
  recording === undefined ? {} : { metadata: recording() }

/** Read when the service is done, so that its spans have ended. */
const metadata = Effect.map(CurrentRecording, recorded)

/** The same, after warnings that every caller gets. */
const metadataWith = (warnings: ReadonlyArray<string>, unreadable: ReadonlyArray<Unreadable> = []) =>
  Effect.map(CurrentRecording, (recording): Recorded => {
    const { metadata } = recorded(recording)
    if (warnings.length === 0) return metadata === undefined ? {} : { metadata }
    const logs = warnings.map((message) => ({ level: "warn" as const, message }))
    return {
      metadata: {
        logs: [...logs, ...(metadata?.logs ?? [])],
        traces: metadata?.traces ?? [],
        ...(unreadable.length === 0 ? {} : { unreadable })
      }
    }
  })

/** Each unreadable row is a warning, too: clients that were made before `metadata.unreadable` read these. */
const metadataOf = ({ unreadable = [] }: Pick<Page<unknown>, "unreadable">) =>
  metadataWith(
    unreadable.map(({ reason }) => `row_unreadable: ${reason}`),
    unreadable
  )

export const one = <A, E, R>(self: Effect.Effect<A, E, R>, warnings: ReadonlyArray<string> = []) =>
  Effect.flatMap(self, (data) =>
    Effect.map(metadataWith(warnings), (extra) => ({ success: true as const, data, ...extra }))
  )

/** `text` describes the change that was made. */
export const done = <const Text extends string, A, E, R>(self: Effect.Effect<A, E, R>, text: Text) =>
  one(Effect.as(self, text))

/** The path and the query that the caller used. The path includes the prefix if a host program mounts the API under one. */
const targetOf = (originalUrl: string) => {
  const [path = "", query = ""] = originalUrl
    .replace(/^https?:\/\/[^/]*/i, "")
    .replace(/#.*$/, "")
    .split(/\?(.*)/s)
  return { path: path.replace(/\/+$/, ""), query: new URLSearchParams(query) }
}

const target = Effect.map(HttpServerRequest.HttpServerRequest, ({ originalUrl }) => targetOf(originalUrl))

/** `Link` to the same request, but for the items after the ones that are served. */
const nextLink = ({ path, query }: ReturnType<typeof targetOf>, cursor: string, parameter = "cursor"): string => {
  query.delete("page")
  query.set(parameter, cursor)
  return `<${path}?${query}>; rel="next"`
}

/** With `Link` to the next page, if there is one. */
const linked = <A extends Pick<Items<unknown>, "next">, E, R>(self: Effect.Effect<A, E, R>, parameter?: string) =>
  Effect.tap(self, ({ next }) =>
    next === undefined
      ? Effect.void
      : Effect.flatMap(target, (place) => setHeader("link", nextLink(place, next, parameter)))
  )

/** `parameter` is the name of the query parameter for the cursor. */
export const items = <A, E, R>(self: Effect.Effect<Items<A>, E, R>, parameter?: string) =>
  one(Effect.map(linked(self, parameter), ({ items }) => items))

const tooLarge = BadRequest.of([
  { field: "per_page", message: `these items do not fit into ${maxNumberedBytes} bytes; ask for fewer` }
])

/** A page by number has to be whole: a caller that counts pages would miss what was left off. */
const orTooLarge = <A, E, R>(self: Effect.Effect<Page<A>, E, R>) =>
  Effect.filterOrFail(
    self,
    ({ isCut }) => isCut !== true,
    () => tooLarge
  )

export const page = <A, E, R>(self: Effect.Effect<Page<A>, E, R>) =>
  Effect.flatMap(linked(orTooLarge(self)), (served) =>
    Effect.map(metadataOf(served), (extra) => ({
      success: true as const,
      data: served.items,
      pagination: Envelope.pagination(served),
      ...extra
    }))
  )

/** A page if there is a total, else items. With `Link` to what comes next, if there is more. */
export const pageOrItems = <A, E, R>(
  self: Effect.Effect<Items<A> & Partial<Pick<Page<A>, "total" | "request">>, E, R>
) =>
  Effect.flatMap(linked(self), ({ items: data, total, request }) =>
    Effect.map(metadata, (extra) => ({
      success: true as const,
      data,
      ...(total === undefined || request === undefined ? {} : { pagination: Envelope.pagination({ total, request }) }),
      ...extra
    }))
  )

const setTag = (version: string) => setHeader("etag", entityTag(version))

/** With `ETag`. */
export const versioned = <A, E, R>(self: Effect.Effect<Versioned<A>, E, R>, warnings?: ReadonlyArray<string>) =>
  one(
    Effect.flatMap(self, ({ value, version }) => Effect.as(setTag(version), value)),
    warnings
  )

const setLocation = (id: string) =>
  Effect.flatMap(target, ({ path }) => setHeader("location", `${path}/${encodeURIComponent(id)}`))

/** With `Location`: the collection that was posted to, and the new id. */
export const created = <A extends { readonly id: string }, E, R>(self: Effect.Effect<A, E, R>) =>
  one(Effect.tap(self, ({ id }) => setLocation(id)))

/** With `Location` and `ETag`. */
export const createdVersioned = <A extends { readonly id: string }, E, R>(
  self: Effect.Effect<Versioned<A>, E, R>,
  warnings?: ReadonlyArray<string>
) =>
  versioned(
    Effect.tap(self, ({ value }) => setLocation(value.id)),
    warnings
  )

/** What is JSON already. */
interface Stored {
  readonly json: string
  readonly version: string
}

interface StoredPage extends Omit<Page<unknown>, "items"> {
  readonly json: string
}

const json = (text: string, headers: Record<string, string>, status = 200) =>
  HttpServerResponse.text(text, { status, headers, contentType: "application/json" })

/** With `ETag`. */
export const stored = <E, R>(
  self: Effect.Effect<Stored, E, R>,
  status?: number,
  warnings: ReadonlyArray<string> = []
) =>
  Effect.flatMap(self, ({ json: data, version }) =>
    Effect.map(metadataWith(warnings), (extra) =>
      json(Envelope.text(data, extra), { etag: entityTag(version) }, status)
    )
  )

/** With `Location` and `ETag`. */
export const createdStored = <E, R>(
  self: Effect.Effect<Stored & { readonly id: string }, E, R>,
  warnings?: ReadonlyArray<string>
) =>
  stored(
    // Also where an answer that is kept for its `Idempotency-Key` gets its header fields from.
    Effect.tap(self, ({ id, version }) => Effect.andThen(setLocation(id), setTag(version))),
    Envelope.createdStatus,
    warnings
  )

/** With `Link` to the next page, if there is one. */
export const storedPage = <E, R>(self: Effect.Effect<StoredPage, E, R>) =>
  Effect.flatMap(linked(self), (page) =>
    Effect.map(metadataOf(page), (extra) =>
      json(Envelope.pageText(page.json, { pagination: Envelope.pagination(page), ...extra }), {})
    )
  )
