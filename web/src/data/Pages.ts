// Lists that a cursor leads through.
import { Effect, Schema } from "effect"
import type { HttpClientResponse } from "effect/http"

/** A row that the service cannot read. */
export interface UnreadableRow {
  readonly id: string
  readonly reason: string
}

export interface ListPage<Row> {
  readonly rows: ReadonlyArray<Row>
  readonly unreadable: ReadonlyArray<UnreadableRow>
  /** The cursor of the next page. */
  readonly next?: string
  /** How many there are on all pages, if the service counts them. */
  readonly total?: number
}

interface Answer<Row> {
  readonly data: ReadonlyArray<Row>
  readonly pagination?: { readonly total_items: number }
  readonly metadata?: { readonly unreadable?: ReadonlyArray<UnreadableRow> }
}

/** The cursor in a `Link` header: `</api/v1/relayers?cursor=abc>; rel="next"`. */
const cursorOf = (link: string | undefined): string | undefined => {
  const target = /<([^>]+)>\s*;\s*rel="?next"?/.exec(link ?? "")?.[1]
  if (target === undefined) return undefined
  return new URL(target, "http://service").searchParams.get("cursor") ?? undefined
}

export const pageOf = <Row, E, R>(
  answered: Effect.Effect<readonly [Answer<Row>, HttpClientResponse.HttpClientResponse], E, R>
): Effect.Effect<ListPage<Row>, E, R> =>
  Effect.map(answered, ([{ data, pagination, metadata }, response]) => {
    const next = cursorOf(response.headers["link"])
    return {
      rows: data,
      unreadable: metadata?.unreadable ?? [],
      ...(next === undefined ? {} : { next }),
      ...(pagination === undefined ? {} : { total: pagination.total_items })
    }
  })

/** A value with the version of it that a change names in `If-Match`. */
export interface Versioned<A> {
  readonly value: A
  readonly etag?: string
}

export const versionOf = <A, E, R>(
  answered: Effect.Effect<readonly [{ readonly data: A }, HttpClientResponse.HttpClientResponse], E, R>
): Effect.Effect<Versioned<A>, E, R> =>
  Effect.map(answered, ([{ data }, response]) => {
    const etag = response.headers["etag"]
    return { value: data, ...(etag === undefined ? {} : { etag }) }
  })

/** The parameters of an address. `lists` are those that may be repeated. */
const raw = (key: string, lists: ReadonlyArray<string>) => {
  const parameters = new URLSearchParams(key)
  return Object.fromEntries(
    [...parameters.keys()].map((name) => [name, lists.includes(name) ? parameters.getAll(name) : parameters.get(name)])
  )
}

/** Reads the parameters of an address as the contract reads those of a request. What is wrong with them is a failure like a 400. */
export const queryReader = <Fields extends Schema.Struct.Fields>(
  fields: Fields,
  lists: ReadonlyArray<keyof Fields & string> = []
) => {
  const decode = Schema.decodeUnknownEffect(Schema.toCodecStringTree(Schema.Struct(fields)))
  return (key: string) => decode(raw(key, lists), { errors: "all", onExcessProperty: "error" })
}

/** Reads the JSON that a form has made as the service reads a body, so that mistakes are found before it is sent. */
export const bodyReader = <S extends Schema.ConstraintDecoder<unknown>>(schema: S) => {
  const decode = Schema.decodeUnknownEffect(schema)
  return (json: unknown) => decode(json, { errors: "all", onExcessProperty: "error" })
}
