// Builds responses of handlers: the result of a service in an envelope, with what was recorded, in the type that is preferred.
import { Context, DateTime, Effect, Logger, LogLevel, References, Tracer } from "effect"
import { HttpServerRequest, HttpServerResponse } from "effect/http"
import * as Envelope from "../../api/Envelope.ts"
import type { Metadata } from "../../api/Envelope.ts"
import * as Caller from "../../domain/access/Caller.ts"
import type { Items, Page, Unreadable } from "../../domain/request/Page.ts"
import { BadRequest, entityTag } from "../../domain/request/Request.ts"
import type { Versioned } from "../../domain/request/Request.ts"
import { maxNumberedBytes } from "../../sql/Rows.ts"
import { systemAttribute } from "../../sql/Transaction.ts"
import { setHeader } from "./CurrentRequest.ts"

// Records the log lines and spans of a request that is sent with `X-Relayer-Debug: true`.

/** Returns what the current request has recorded so far. `undefined` if it is not recorded. */
const CurrentRecording = Context.Reference<(() => Metadata) | undefined>(
  "effect-relayer/server/responses/Respond/CurrentRecording",
  { defaultValue: () => undefined }
)

const maxLogs = 1000
const maxSpans = 1000

type Level = Metadata["logs"][number]["level"]

const levels: Partial<Record<LogLevel.LogLevel, Level>> = {
  Fatal: "error",
  Error: "error",
  Warn: "warn",
  Info: "info",
  Debug: "debug",
  Trace: "debug"
}

const asText = (part: unknown): string => (typeof part === "string" ? part : JSON.stringify(part))

/** The message and its annotations: `relayer created relayer_id=payouts`. The caller knows the request id and its own. */
const toText = ({ message, fiber }: Logger.Options<unknown>): string => {
  const { request_id: _, actor: __, ...annotations } = fiber.getRef(References.CurrentLogAnnotations)
  const fields = Object.entries(annotations).map(([name, value]) => `${name}=${asText(value)}`)
  return [...(Array.isArray(message) ? message : [message]).map(asText), ...fields].join(" ")
}

/**
 * The attributes that are shown. A library may add others in any version, and among those of today are SQL statements, and the
 * address and name of the database.
 */
const shown = new Set([
  systemAttribute,
  "error.type",
  "http.request.method",
  "http.response.status_code",
  // The JSON-RPC method and the type of the network of a call to a chain.
  "method",
  "network_type"
])

const isShown = (entry: [string, unknown]): entry is [string, string | number | boolean] =>
  shown.has(entry[0]) && ["string", "number", "boolean"].includes(typeof entry[1])

const statusOf = ({ status }: Tracer.Span) => {
  if (status._tag === "Started") return "running"
  return status.exit._tag === "Success" ? "ok" : "error"
}

/** A key that is limited to relayers gets this name instead of the names of repositories, tables and the database. */
const database = "database"

/** Whether the span is a query, such as `SignersRepo.insert`, or a statement of a query. */
const isOfDatabase = ({ attributes }: Tracer.Span) => attributes.has(systemAttribute)

/** A span as the caller may see it: `isNarrow` if its key is limited to relayers. */
const describeSpan = (isNarrow: boolean) => (span: Tracer.Span) =>
  isNarrow && isOfDatabase(span) ? { ...recordedSpan(span), name: database, attributes: {} } : recordedSpan(span)

const recordedSpan = (span: Tracer.Span): Metadata["traces"][number] => ({
  name: span.name,
  trace_id: span.traceId,
  span_id: span.spanId,
  ...(span.parent._tag === "Some" ? { parent_span_id: span.parent.value.spanId } : {}),
  started_at: DateTime.formatIso(DateTime.makeUnsafe(Number(span.status.startTime / 1_000_000n))),
  ...(span.status._tag === "Ended" ? { duration_ms: Number(span.status.endTime - span.status.startTime) / 1e6 } : {}),
  status: statusOf(span),
  attributes: Object.fromEntries([...span.attributes].filter(isShown))
})

/** Records `self` in a span called `name`. */
export const recordRequest = <A, E, R>(self: Effect.Effect<A, E, R>, name: string): Effect.Effect<A, E, R> =>
  Effect.gen(function* () {
    const tracer = yield* Tracer.Tracer
    const loggers = yield* Logger.CurrentLoggers
    const minimum = yield* References.MinimumLogLevel
    const shownSpan = describeSpan((yield* Caller.current).relayerIds !== undefined)
    const logs: Array<Metadata["logs"][number]> = []
    const spans: Array<Tracer.Span> = []

    const recorder = Logger.make((line) => {
      if (logs.length < maxLogs) logs.push({ level: levels[line.logLevel] ?? "log", message: toText(line) })
    })
    // The recorder gets every line. The other loggers get the lines that they got before.
    const others = [...loggers].map((logger) =>
      Logger.make((line) => (LogLevel.isGreaterThanOrEqualTo(line.logLevel, minimum) ? logger.log(line) : undefined))
    )
    const recordingTracer = Tracer.make({
      ...tracer,
      span: (options) => {
        const span = tracer.span(options)
        if (spans.length < maxSpans) spans.push(span)
        return span
      }
    })

    return yield* Effect.andThen(Effect.annotateLogs(Effect.logDebug("request recorded"), { name }), self).pipe(
      Effect.withSpan(name),
      Effect.provideService(References.TracerEnabled, true),
      Effect.provideService(Tracer.Tracer, recordingTracer),
      Effect.provideService(Logger.CurrentLoggers, new Set([recorder, ...others])),
      Effect.provideService(References.MinimumLogLevel, "Debug"),
      Effect.provideService(CurrentRecording, () => ({ logs: [...logs], traces: spans.map(shownSpan) }))
    )
  })

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

// Proactive content negotiation (RFC 9110, section 12.5.1).

interface Range {
  readonly type: string
  readonly subtype: string
  readonly parameters: ReadonlyMap<string, string>
  /** From 0, not acceptable, to 1. */
  readonly quality: number
}

const parameterOf = (text: string): readonly [string, string] => {
  const [name = "", value = ""] = text.split("=", 2)
  return [
    name.trim().toLowerCase(),
    value
      .trim()
      .replace(/^"(.*)"$/, "$1")
      .toLowerCase()
  ]
}

const rangeOf = (text: string): Range | undefined => {
  const [name = "", ...rest] = text.split(";")
  const [, type, subtype] = /^\s*([^\s/]+)\/([^\s/]+)\s*$/.exec(name.toLowerCase()) ?? []
  if (type === undefined || subtype === undefined) return undefined
  const parameters = new Map(rest.map(parameterOf))
  const quality = Number(parameters.get("q") ?? "1")
  parameters.delete("q")
  return { type, subtype, parameters, quality: quality >= 0 && quality <= 1 ? quality : 0 }
}

/** How specifically `range` names `offered`. `undefined`: it does not match. */
const specificity = (range: Range, offered: Range): number | undefined => {
  if (range.type === "*") return range.subtype === "*" ? 0 : undefined
  if (range.type !== offered.type) return undefined
  if (range.subtype === "*") return 1
  if (range.subtype !== offered.subtype) return undefined
  let common = 0
  for (const [name, value] of range.parameters) {
    const own = offered.parameters.get(name)
    if (own === undefined) continue
    if (own !== value) return undefined
    common += 1
  }
  return 2 + common
}

/** The quality that the most specific range gives to `offered`. A type that no range matches has none. */
const qualityOf = (ranges: ReadonlyArray<Range>, offered: Range): number => {
  let best = { specificity: -1, quality: 0 }
  for (const range of ranges) {
    const found = specificity(range, offered)
    if (found !== undefined && found > best.specificity) best = { specificity: found, quality: range.quality }
  }
  return best.quality
}

/**
 * The type that a client prefers, of types that the service offers in its own order of preference. The first one is the
 * response to a client that accepts everything, nothing of it, or does not say.
 */
export const preferredType = <Type extends string>(
  accept: string | undefined,
  offered: readonly [Type, ...Array<Type>]
): Type => {
  const ranges = (accept ?? "").split(",").flatMap((text) => rangeOf(text) ?? [])
  let best: { readonly type: Type; readonly quality: number } = { type: offered[0], quality: 0 }
  for (const type of offered) {
    const parsed = rangeOf(type)
    const quality = parsed === undefined ? 0 : qualityOf(ranges, parsed)
    if (quality > best.quality) best = { type, quality }
  }
  return best.type
}
