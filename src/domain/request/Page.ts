// Pages of lists, by number or by cursor.
import { Effect, Schema, SchemaIssue, SchemaTransformation } from "effect"
import { field } from "./Field.ts"

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
