// What a response returns of a long list: a page by number or by cursor, or a series of time steps.
import { DateTime, Effect, Schema, SchemaIssue, SchemaTransformation } from "effect"
import { field } from "./Field.ts"
import { BadRequest } from "./Request.ts"
import { Instant } from "./Shown.ts"

/** Items on a page of a list with numbers. A larger `per_page` is served as this. */
export const maxPerPage = 1000

/**
 * An integer in a query or a header. Numbers beyond 2^53−1 are past the end of every list and are read as 2^53−1.
 * `usual` is the value if the parameter is absent.
 */
export const count = (description: string, example: number, usual?: number) =>
  Schema.String.annotate({
    contentMediaType: "application/json",
    contentSchema: {
      type: "integer",
      minimum: 0,
      ...(usual === undefined ? {} : { default: usual }),
      description,
      examples: [example]
    }
  }).pipe(
    Schema.decodeTo(
      Schema.Natural,
      SchemaTransformation.transformEffect({
        decode: (text: string, options) =>
          /^\d+$/.test(text)
            ? Effect.succeed(Math.min(Number(text), Number.MAX_SAFE_INTEGER))
            : Effect.fail(new SchemaIssue.InvalidValue({ expected: "an integer, 0 or more" }, text, options)),
        encode: (count: number) => Effect.succeed(String(count))
      })
    )
  )

export const PageQuery = {
  page: Schema.optionalKey(count("Number of the page, from 1. 0 means the first page.", 1, 1)),
  per_page: Schema.optionalKey(
    count(
      "Items on a page. 0 returns no items, only the total. More than 1000 means 1000. If the items exceed 2 MiB, the response is 400: ask for fewer.",
      10,
      10
    )
  )
}

/** The page that a caller requested. */
export interface PageQuery {
  readonly page?: number
  readonly per_page?: number
}

/** The cursor of a list, from the `Link` header. */
export const cursor = field(
  Schema.String,
  "Position after the last item of the previous page, from its `Link` header (`rel=next`). Valid for the same list only.",
  "AAAAAGeD2sQ"
)

export const CursorQuery = { ...PageQuery, cursor: Schema.optionalKey(cursor) }
export interface CursorQuery extends PageQuery {
  readonly cursor?: string
}

/** The page to serve: the numbers that `pagination` returns, and the rows of the page. */
export interface PageRequest {
  readonly page: number
  readonly perPage: number
  /** Rows before the page, at most 2^53−1. */
  readonly offset: number
}

export const pageRequest = (query: PageQuery): PageRequest => {
  const page = Math.max(query.page ?? 1, 1)
  const perPage = Math.min(Math.max(query.per_page ?? 10, 0), maxPerPage)
  return { page, perPage, offset: Math.min((page - 1) * perPage, Number.MAX_SAFE_INTEGER) }
}

export interface Items<A> {
  readonly items: ReadonlyArray<A>
  /** Cursor of the next items. Absent if there are none, or if the list has no cursors. */
  readonly next?: string
}

/** A row of a list that the service cannot read. `reason` says what to do. */
export interface Unreadable {
  readonly id: string
  readonly reason: string
}

export interface Page<A> extends Items<A> {
  readonly total: number
  readonly request: PageRequest
  /** Whether items of the page are missing, because they are too large together. Over HTTP, such a page is refused. */
  readonly isCut?: boolean
  /** Rows of the page that are not among the items. Over HTTP, they are in `metadata.unreadable`, and `metadata.logs` names each with the code `row_unreadable`. */
  readonly unreadable?: ReadonlyArray<Unreadable>
}

// The time steps of a series of numbers. A response has all steps of its period, also those in which nothing happened.

/** The most steps of a response. A plot has no pixels for more. */
const maxSteps = 1000

const second = 1000
const hour = 3600 * second

/** Seconds. */
const defaultStep = 60

export const SeriesQuery = {
  since: Schema.optionalKey(
    field(
      Instant,
      "First moment of the series; the first step contains it. The default is an hour ago.",
      "2026-01-02T03:00:00Z"
    )
  ),
  step: Schema.optionalKey(
    count(`Seconds of a step. At most ${maxSteps} steps fit into a response.`, defaultStep, defaultStep)
  )
}
export interface SeriesQuery {
  readonly since?: DateTime.Utc
  readonly step?: number
}

/** In milliseconds. `since` is the beginning of a step: steps begin at multiples of their length. */
export interface Series {
  readonly since: number
  readonly step: number
  readonly steps: number
}

/** `longest`: the most milliseconds between `since` and now. */
export const seriesOf = (
  { since, step: seconds = defaultStep }: SeriesQuery,
  now: number,
  longest: number
): Effect.Effect<Series, BadRequest> => {
  const asked = since === undefined ? now - Math.min(hour, longest) : DateTime.toEpochMillis(since)
  const refuse = (name: string, message: string) => Effect.fail(BadRequest.of([{ field: name, message }]))
  if (asked > now) return refuse("since", "must not be in the future")
  if (now - asked > longest) return refuse("since", `must be at most ${longest / hour} hours ago`)
  if (seconds < 1) return refuse("step", "must be at least 1 second")
  const step = seconds * second
  const first = Math.floor(asked / step) * step
  const steps = Math.floor((now - first) / step) + 1
  if (steps > maxSteps) {
    const least = Math.ceil((now - asked) / (maxSteps - 1) / second)
    return refuse("step", `must be at least ${least} seconds for this period`)
  }
  return Effect.succeed({ since: first, step, steps })
}

/** All steps in order. A step without a row has `none`. `at` returns the beginning of the step of a row. */
export const filled = <Row extends { readonly at: number }, A>(
  { since, step, steps }: Series,
  rows: ReadonlyArray<Row>,
  show: (row: Row | undefined) => A
): ReadonlyArray<{ readonly at: DateTime.Utc } & A> => {
  const byStart = new Map(rows.map((row) => [row.at, row]))
  return Array.from({ length: steps }, (_, index) => {
    const at = since + index * step
    return { at: DateTime.makeUnsafe(at), ...show(byStart.get(at)) }
  })
}
