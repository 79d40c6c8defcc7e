// Reads pages of the table `relayers`.
import { Effect } from "effect"
import type { Statement } from "effect/sql"
import type { RelayerFilter, RelayerSort } from "../../domain/relayer/Relayer.ts"
import type { PageRequest, Unreadable } from "../../domain/request/Page.ts"
import { maxResourceBytes } from "../../domain/request/Request.ts"
import { client, query } from "../../sql/Query.ts"
import { bytesBefore, managedByInJson, maxNumberedBytes, maxPageBytes, selectRows } from "../../sql/Rows.ts"
import * as ChangedRow from "../secrets/ChangedRow.ts"
import { RelayerMacs } from "./RelayerMacs.ts"
import * as RelayerChecks from "./RelayerChecks.ts"
import * as RelayerOrder from "./RelayerOrder.ts"
import type { Position } from "./RelayerOrder.ts"
import { StoredPage } from "./StoredRelayer.ts"

export interface RelayerSelection {
  readonly request: PageRequest
  readonly filter: RelayerFilter
  /** For the caller, only these relayers exist. `undefined`: all. */
  readonly ids: ReadonlyArray<string> | undefined
  readonly sort: RelayerSort
  /** Whether each relayer has its `health`. */
  readonly hasHealth: boolean
  /** From the cursor: the last relayer of the previous page, and the total. `undefined`: the request has no cursor. */
  readonly from: { readonly position: Position; readonly total: number } | undefined
}

/** Relayers that fit on any page, whatever their size. */
const maxSmall = maxPageBytes / maxResourceBytes

/** A page. `last` is its last relayer if another page follows. */
export interface FoundPage {
  readonly page: StoredPage
  /** The relayers on the page, fewer than asked for if they did not fit. */
  readonly served: number
  readonly isCut: boolean
  readonly last: Position | undefined
}

const authenticated = ({ id, json, mac }: Readonly<Record<string, unknown>>) => ({
  id: String(id),
  json: String(json),
  mac: String(mac)
})

/** Adds the health after the verification. The verification remembers the JSON of relayers, and health changes often. */
const withHealth = ({ json, health }: Readonly<Record<string, unknown>>): string =>
  typeof health === "string" ? `${String(json).slice(0, -1)},"health":${health}}` : String(json)

interface Readable<Row> {
  readonly items: ReadonlyArray<Row>
  readonly unreadable: ReadonlyArray<Unreadable>
}

export const make = Effect.gen(function* () {
  const sql = yield* client
  const shown = managedByInJson(sql, "relayers")
  const bytes = sql`octet_length(t.json)`

  /** `json`: null for relayers that do not fit. */
  const selecting = ({ sort, hasHealth }: RelayerSelection, json: Statement.Fragment) => {
    const { key = sql`''` } = RelayerOrder.of(sql, sort)
    const health = hasHealth ? RelayerChecks.listed(sql) : sql`NULL`
    return selectRows(sql, {
      table: "relayers",
      columns: sql`t.id, ${json} AS json, t.mac, ${key} AS key, ${health} AS health`,
      ...(hasHealth ? { joins: RelayerChecks.joined(sql) } : {})
    })
  }

  const small = (selection: RelayerSelection) => selecting(selection, shown)

  const large = (selection: RelayerSelection) => {
    const { sort, from } = selection
    const before = bytesBefore(sql, bytes, RelayerOrder.of(sql, sort).by)
    const most = from === undefined ? maxNumberedBytes : maxPageBytes
    return selecting(selection, sql`CASE WHEN ${before} < ${most} THEN ${shown} END`)
  }
  const macs = yield* RelayerMacs
  const counted = sql`(SELECT sum(count)::bigint FROM relayer_counts)`

  const conditions = ({ q, state, ...equal }: RelayerFilter, ids: ReadonlyArray<string> | undefined) => [
    ...Object.entries(equal).map(([column, value]) => sql`t.${sql(column)} = ${value}`),
    ...(state === undefined ? [] : [RelayerChecks.hasState(sql, state)]),
    ...(q === undefined ? [] : [sql`strpos(lower(t.name), lower(${q})) + strpos(lower(t.id), lower(${q})) > 0`]),
    ...(ids === undefined ? [] : [sql`${sql.in("id", ids)}`])
  ]

  /** Where the page starts: after the cursor, in the block that contains the offset, or at an offset from the first row. */
  const walk = ({ request, filter, ids, sort, from }: RelayerSelection) => {
    const where = conditions(filter, ids)
    const order = RelayerOrder.of(sql, sort)
    if (from !== undefined) {
      const after = sql.and([...where, order.after(from.position)])
      return { where: after, orderBy: order.by, offset: 0, total: sql`${from.total}::bigint` }
    }
    if (where.length > 0) return { where: sql.and(where), orderBy: order.by, offset: request.offset }
    const skip = request.offset < RelayerOrder.blockSize ? undefined : order.skip?.(request.offset)
    return { orderBy: order.by, total: counted, ...(skip ?? { offset: request.offset }) }
  }

  /** One verification for all rows, because it remembers what it has verified. Each alone if one was changed. */
  const readable = <Row extends Parameters<typeof authenticated>[0]>(rows: ReadonlyArray<Row>) =>
    Effect.catchCause(
      Effect.map(macs.verify(rows.map(authenticated)), (): Readable<Row> => ({ items: rows, unreadable: [] })),
      () => ChangedRow.split(rows, (row) => macs.verify([authenticated(row)]))
    )

  /** Reads one row more than the page has: it shows whether there is a next page. */
  const find = (selection: RelayerSelection) =>
    Effect.suspend(() => {
      const { perPage } = selection.request
      const select = perPage <= maxSmall ? small(selection) : large(selection)
      return select({ ...walk(selection), perPage: perPage === 0 ? 0 : perPage + 1 })
    }).pipe(
      Effect.bind("verified", ({ rows }) => readable(rows.filter(({ json }) => json !== null))),
      Effect.map(({ rows, total, verified: { items, unreadable } }): FoundPage => {
        const { request } = selection
        const asked = rows.slice(0, request.perPage)
        const served = asked.filter(({ json }) => json !== null)
        const shown = new Set(items)
        const end = served.at(-1)
        const json = served
          .filter((row) => shown.has(row))
          .map(withHealth)
          .join()
        return {
          served: served.length,
          isCut: served.length < asked.length,
          page: new StoredPage({ json, total, request, unreadable }),
          last:
            end === undefined || served.length === rows.length
              ? undefined
              : { key: String(end.key), seq: Number(end.seq) }
        }
      }),
      query("RelayerPagesRepo.find")
    )

  return { find }
})
