// The shape of every answer that is no failure.
import { Schema } from "effect"
import { HttpApiSchema } from "effect/http-api"
import type { Page } from "../domain/request/Page.ts"
import { Value } from "../domain/request/ExactJson.ts"
import * as Json from "./Json.ts"

/** A span of the request, as OpenTelemetry names its parts. */
const Span = Schema.Struct({
  name: Schema.String,
  trace_id: Schema.String,
  span_id: Schema.String,
  parent_span_id: Schema.optionalKey(Schema.String),
  started_at: Schema.String,
  /** Absent while the span is running. */
  duration_ms: Schema.optionalKey(
    Schema.Finite.check(Schema.isBetween({ minimum: 0, maximum: Number.MAX_SAFE_INTEGER }))
  ),
  status: Schema.Literals(["running", "ok", "error"]),
  attributes: Schema.Record(Schema.String, Value)
}).annotate({ identifier: "Span" })

export const Metadata = Schema.Struct({
  logs: Schema.Array(
    Schema.Struct({
      level: Schema.Literals(["log", "info", "error", "warn", "debug", "result"]),
      message: Schema.String
    })
  ),
  /** Oldest first. */
  traces: Schema.Array(Span)
}).annotate({
  identifier: "Metadata",
  description: "Log lines and spans of this very request; present where it was sent with `X-Relayer-Debug: true`."
})
export type Metadata = typeof Metadata.Type

export const Pagination = Schema.Struct({
  current_page: Schema.Int,
  per_page: Schema.Int,
  total_items: Schema.Int
}).annotate({ identifier: "Pagination", description: "What was served, and how many items there are in all." })

/** One item. */
export const of = <S extends Schema.Top>(data: S) =>
  Json.body(
    Schema.Struct({
      success: Schema.Literal(true),
      data,
      metadata: Schema.optionalKey(Metadata)
    })
  )

export const createdStatus = 201

export const created = <S extends Schema.Top>(data: S) => of(data).pipe(HttpApiSchema.status(createdStatus))

/** Some items of a list that is not counted. */
export const listOf = <S extends Schema.Top>(item: S) => of(Schema.Array(item))

/** A page of items, with the number of all. */
export const pageOf = <S extends Schema.Top>(item: S) =>
  Json.body(
    Schema.Struct({
      success: Schema.Literal(true),
      data: Schema.Array(item),
      pagination: Pagination,
      metadata: Schema.optionalKey(Metadata)
    })
  )

/** The envelopes as text, around data that is JSON already. */
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
