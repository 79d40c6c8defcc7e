// Pages by number: `page` starts at 1, `per_page` is 10 unless told.
import { Effect, Schema, SchemaIssue, SchemaTransformation } from "effect"

export const maxPerPage = 1000

/** Any count of digits is an integer; what exceeds 2^53−1 is past the end of every list and served as 2^53−1. */
export const Count = Schema.String.pipe(
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
  page: Schema.optionalKey(
    Count.annotateKey({ description: "Number of the page, from 1 (the default); 0 means the first page." })
  ),
  per_page: Schema.optionalKey(
    Count.annotateKey({ description: "Items on a page, 10 by default; 0 gives the total only, above 1000 means 1000." })
  )
}

/** What a caller asked for. */
export interface PageQuery {
  readonly page?: number
  readonly per_page?: number
}

export const CursorQuery = {
  ...PageQuery,
  cursor: Schema.optionalKey(
    Schema.String.annotateKey({
      description:
        "Instead of `page`: the place after the last item that was served, from the `Link` header (`rel=next`) of the same list. As fast at the end of a list as at its start."
    })
  )
}
export interface CursorQuery extends PageQuery {
  readonly cursor?: string
}

/** What is served: the numbers that `pagination` echoes, and the rows they stand for. */
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
  /** Cursor of the items after these, where the list has cursors and there are more. */
  readonly next?: string
}

export interface Page<A> extends Items<A> {
  readonly total: number
  readonly request: PageRequest
}
