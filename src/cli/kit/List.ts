// Prints lists: one page, or all following pages.
import { Console, Effect, Option, Schema } from "effect"
import { Flag } from "effect/cli"
import { PageQuery, cursor } from "../../domain/request/Page.ts"
import * as Call from "./Call.ts"
import * as Field from "./Field.ts"
import * as Help from "./Help.ts"
import * as Print from "./Print.ts"
import * as Table from "./Table.ts"

/** A position in a list. */
export interface Place {
  readonly page?: number
  readonly per_page?: number
  readonly cursor?: string
}

export const flags = {
  ...Print.flags,
  all: Flag.Boolean("all").pipe(
    Flag.withoutNegation,
    Flag.withDescription("Fetch all pages, each as large as the service allows"),
    Flag.withDefault(false)
  )
}

export interface ListFlags extends Print.OutputFlags {
  readonly all: boolean
}

export const pageFlags = Help.describe(Schema.Struct(PageQuery), {
  page: Field.integer("page"),
  per_page: Field.integer("per_page")
})

export const { cursor: cursorFlag } = Help.describe(Schema.Struct({ cursor }), { cursor: Field.text("cursor") })

interface PageGiven {
  readonly page: Option.Option<number>
  readonly per_page: Option.Option<number>
}

const perPageOfAll = 1000

export const start = (all: boolean, given: PageGiven): Place => ({
  ...(all ? { per_page: perPageOfAll } : {}),
  ...Field.given({ page: given.page, per_page: given.per_page })
})

export interface Listed<Row> {
  readonly data: ReadonlyArray<Row>
  readonly pagination?: { readonly current_page: number; readonly per_page: number; readonly total_items: number }
}

/** Uses the cursor of the `Link` header. Lists without cursors continue by page number. */
export const next = (place: Place, { pagination }: Listed<unknown>, link: string | undefined): Place | undefined => {
  const { page: _, cursor: __, ...rest } = place
  const target = /<([^>]*)>;\s*rel="next"/.exec(link ?? "")?.[1]
  const cursor = target === undefined ? null : URL.parse(target, "http://localhost")?.searchParams.get("cursor")
  if (typeof cursor === "string") return { ...rest, cursor }
  if (pagination === undefined || pagination.per_page === 0) return undefined
  const { current_page, per_page, total_items } = pagination
  return current_page * per_page < total_items ? { ...rest, page: current_page + 1 } : undefined
}

/** Title and cell of each column. */
export type Columns<Row> = Readonly<Record<string, (row: Row) => string | undefined>>

const Unread = Schema.Struct({
  metadata: Schema.Struct({ unreadable: Schema.Array(Schema.Struct({ id: Schema.String, reason: Schema.String })) })
})

const readUnread = Schema.decodeUnknownOption(Unread)

/** Rows of the page that the service cannot read. */
export const unreadableOf = ({ json }: Pick<Call.Answer, "json">): Unreadable =>
  Option.match(readUnread(json), { onNone: () => [], onSome: ({ metadata }) => metadata.unreadable })

type Unreadable = (typeof Unread.Type)["metadata"]["unreadable"]

/** The cells of a row that the service cannot read, beside those of the others. */
export const unreadableCells = (id: string, titles: ReadonlyArray<string>) => {
  const state = titles.includes("STATE") ? "STATE" : titles[1]
  return titles.map((title) => (title === "ID" ? id : title === state ? "unreadable" : undefined))
}

/** `complete` makes a further call for each row of a table, for what the list does not have. */
export const print = Effect.fnUntraced(function* <Row, E, E2 = never>(
  given: ListFlags,
  columns: Columns<Row>,
  start: Place,
  call: (client: Call.Client, place: Place) => Effect.Effect<Listed<Row>, E>,
  complete?: (client: Call.Client, row: Row) => Effect.Effect<Row, E2>
) {
  const run = yield* Call.open(given)
  const rows: Array<Row> = []
  const raw: Array<unknown> = []
  const unreadable: Array<Unreadable[number]> = []
  let place: Place | undefined = start
  do {
    const from: Place = place
    const { value, answer } = yield* run((client) => call(client, from))
    const data = Print.dataOf(answer)
    rows.push(...value.data)
    if (Array.isArray(data)) raw.push(...data)
    unreadable.push(...unreadableOf(answer))
    place = next(from, value, answer.headers.link)
  } while (given.all && place !== undefined)
  const named = Effect.forEach(unreadable, ({ reason }) => Console.error(Table.printable(`unreadable: ${reason}`)))
  if (given.output === "json") return yield* Effect.andThen(Print.json(raw), named)
  if (complete !== undefined) {
    for (const [index, row] of rows.entries()) rows[index] = (yield* run((client) => complete(client, row))).value
  }
  const titles = Object.keys(columns)
  yield* Print.table([
    titles,
    ...rows.map((row) => Object.values(columns).map((cell) => cell(row))),
    ...unreadable.map(({ id }) => unreadableCells(id, titles))
  ])
  yield* named
  if (place !== undefined) yield* Console.error("There are more items: use --all to fetch all pages.")
})
