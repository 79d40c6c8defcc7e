// The envelope around the data of every successful response.
import { Schema, SchemaAST } from "effect"
import { HttpApiSchema } from "effect/http-api"
import { Value } from "../domain/request/ExactJson.ts"
import { field } from "../domain/request/Field.ts"
import type { Page } from "../domain/request/Page.ts"
import * as Shown from "../domain/request/Shown.ts"
import * as Json from "./Json.ts"

const TraceId = field(Shown.hex(32), "Identifier of the trace (OpenTelemetry).", "5b8aa5a2d2c872e8321cf37308d69df2")
const SpanId = Shown.hex(16)

/** A span of the request, with its parts named as in OpenTelemetry. */
const Span = Schema.Struct({
  name: field(Shown.Words, "What the span measures.", "Relayers.create"),
  trace_id: TraceId,
  span_id: field(SpanId, "Identifier of the span in its trace.", "051581bf3cb55c13"),
  parent_span_id: Schema.optionalKey(field(SpanId, "The span that contains this one.", "5fb397be34d26b51")),
  started_at: field(
    Shown.shaped(/^20[2-9][0-9]-(0[1-9]|1[0-2])-(0[1-9]|1[0-9]|2[0-8])T12:00:00\.[0-9]{3}Z$/),
    "When the span started.",
    "2026-01-02T03:04:05.678Z"
  ),
  duration_ms: Schema.optionalKey(
    field(
      Schema.Finite.check(Schema.isBetween({ minimum: 0, maximum: Number.MAX_SAFE_INTEGER })),
      "Duration in milliseconds. Absent while the span is running.",
      1.25
    )
  ),
  status: field(
    Schema.Literals(["running", "ok", "error"]),
    "Whether the span is running, has succeeded or has failed.",
    "ok"
  ),
  attributes: field(Schema.Record(Schema.String, Value), "Further data of the span.", {
    "db.system.name": "postgresql"
  })
}).annotate({ identifier: "Span", description: "A span of the request." })

const LogLine = Schema.Struct({
  level: field(
    Schema.Literals(["log", "info", "error", "warn", "debug", "result"]),
    "Severity of the message.",
    "info"
  ),
  message: field(Shown.Words, "The log message with its annotations.", "relayer created")
}).annotate({ identifier: "LogLine", description: "A log message of the request." })

const UnreadableRow = Schema.Struct({
  id: field(Shown.Id, "Identifier of the resource.", "payouts"),
  reason: field(Shown.Words, "Why it cannot be read, and what to do.", "it was written by another version")
}).annotate({ identifier: "UnreadableRow", description: "A row that is missing among the items of a list." })

export const Metadata = Schema.Struct({
  logs: field(Schema.Array(LogLine), "Log messages of the request, oldest first."),
  traces: field(Schema.Array(Span), "Spans of the request, oldest first."),
  unreadable: Schema.optionalKey(
    field(
      Schema.Array(UnreadableRow),
      "Rows of the page of a list that the service cannot read. `total_items` counts them. Absent: all of them are among the items."
    )
  )
}).annotate({
  identifier: "Metadata",
  description:
    "Log messages and spans of this request. Present if it was sent with `X-Relayer-Debug: true`, or if there are warnings: `row_unreadable` names a row that is missing in a list because the service cannot read it, a create with `check` says what is wrong with providers and account, and a create of a notification without a signing key says that its webhooks are not signed."
})
export type Metadata = typeof Metadata.Type

export const Pagination = Schema.Struct({
  current_page: field(Schema.Natural, "The page that was served, from 1.", 1),
  per_page: field(Schema.Natural, "The page size that was served, at most 1000.", 10),
  total_items: field(Schema.Natural, "Items on all pages. With `cursor`, the count of the first page.", 42)
}).annotate({ identifier: "Pagination", description: "The page that was served and the number of all items." })

const succeeded = Schema.Literal(true).annotate({
  identifier: "Succeeded",
  description: "Whether the request succeeded.",
  examples: [true]
})

const metadata = Schema.optionalKey(Metadata)

/** Names the envelope after its data in the OpenAPI document, if the data has a name. */
const named = <S extends Schema.Top>(envelope: S, data: Schema.Top, suffix: string) => {
  const identifier = SchemaAST.resolveIdentifier(data.ast)
  return identifier === undefined ? envelope : envelope.annotate({ identifier: identifier + suffix })
}

const envelope = <S extends Schema.Top>(data: S) => Schema.Struct({ success: succeeded, data, metadata })

/** One item. */
export const of = <S extends Schema.Top>(data: S) => Json.body(named(envelope(data), data, "Response"))

export const createdStatus = 201

export const created = <S extends Schema.Top>(data: S) => of(data).pipe(HttpApiSchema.status(createdStatus))

const many = <S extends Schema.Top>(item: S) => field(Schema.Array(item), "The items of this page.")

/** Some items of a list that is not counted. */
export const listOf = <S extends Schema.Top>(item: S) => Json.body(named(envelope(many(item)), item, "ListResponse"))

/** A page of items, with the number of all. */
export const pageOf = <S extends Schema.Top>(item: S) =>
  Json.body(
    named(
      Schema.Struct({ success: succeeded, data: many(item), pagination: Pagination, metadata }),
      item,
      "PageResponse"
    )
  )

/** A page with the number of all items, or, with a cursor, some items that are not counted. */
export const pageOrListOf = <S extends Schema.Top>(item: S) =>
  Json.body(
    named(
      Schema.Struct({ success: succeeded, data: many(item), pagination: Schema.optionalKey(Pagination), metadata }),
      item,
      "PageOrListResponse"
    )
  )

/** The answer to a delete. */
export const deleted = <const Messages extends readonly [string, ...Array<string>]>(...messages: Messages) =>
  of(field(Schema.Literals(messages), "What was done.", messages[0]))

/** The envelope as text, around data that is JSON text already. */
export const text = (data: string, extra: { readonly metadata?: Metadata }): string =>
  `{"success":true,"data":${data}${rest(extra)}}`

export const pageText = (
  data: string,
  extra: { readonly pagination: typeof Pagination.Type; readonly metadata?: Metadata }
): string => `{"success":true,"data":[${data}]${rest(extra)}}`

const rest = (fields: object): string =>
  Object.entries(fields)
    .map(([name, value]) => `,"${name}":${JSON.stringify(value)}`)
    .join("")

export const pagination = (page: Omit<Page<unknown>, "items">): typeof Pagination.Type => ({
  current_page: page.request.page,
  per_page: page.request.perPage,
  total_items: page.total
})
