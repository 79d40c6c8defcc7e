// Pages of the table `relayers`: their orders and cursors, and the last check of each relayer.
import { Effect, Schema } from "effect"
import type { SqlClient, Statement } from "effect/sql"
import type { HealthStatus } from "../../domain/health/ListedHealth.ts"
import type { Relayer, RelayerFilter, RelayerQuery, RelayerSort } from "../../domain/relayer/Relayer.ts"
import { pageRequest } from "../../domain/request/Page.ts"
import type { Page, PageRequest, Unreadable } from "../../domain/request/Page.ts"
import { BadRequest, maxResourceBytes } from "../../domain/request/Request.ts"
import { bytesBefore, managedByInJson, maxNumberedBytes, maxPageBytes, selectRows } from "../../sql/Rows.ts"
import type { Cursors } from "../cursors/Cursors.ts"
import { client, query } from "../../sql/Transaction.ts"
import { splitVerified } from "../secrets/Secrets.ts"
import { isWaiting, RelayerMacs, StoredPage, waitingRelayers } from "./StoredRelayer.ts"

// SQL expressions for lists of `relayers t`: the last check of a relayer, and its open transactions. The feature `health` writes the
// checks. Lists read them in the statement of their page.

/** `relayer_checks_need_idx` has the same condition. */
const inNeed = (sql: SqlClient.SqlClient) =>
  sql`((c.state ->> 'status') IN ('degraded', 'failing', 'disabled') OR (c.state ->> 'told_low') = 'true')`

/** Whether the last check left the relayer in this state. */
const hasStatus = (sql: SqlClient.SqlClient, state: Exclude<HealthStatus, "waiting">) => {
  const isState = sql`(c.state ->> 'status') = ${state}`
  const condition = state === "healthy" || state === "unknown" ? isState : sql`${inNeed(sql)} AND ${isState}`
  return sql`t.id IN (SELECT c.relayer_id FROM relayer_checks c WHERE ${condition})`
}

/** Whether the relayer is in this state. One whose checks succeed is in the state `waiting` while a transaction of it waits. */
const hasHealthState = (sql: SqlClient.SqlClient, state: HealthStatus) => {
  const hasWaiting = sql`t.seq IN (${waitingRelayers(sql)})`
  if (state === "waiting") return sql`${hasWaiting} AND (${hasStatus(sql, "healthy")} OR ${hasStatus(sql, "degraded")})`
  const hasState = hasStatus(sql, state)
  return state === "healthy" || state === "degraded" ? sql`${hasState} AND NOT (${hasWaiting})` : hasState
}

/**
 * How urgently the relayer needs an operator: 0 is the most urgent. PostgreSQL evaluates each subquery once, with the index of
 * relayers in need, so that healthy relayers cost nothing.
 */
const urgencyOf = (sql: SqlClient.SqlClient) => {
  const among = (condition: Statement.Fragment) =>
    sql`t.id IN (SELECT c.relayer_id FROM relayer_checks c WHERE ${inNeed(sql)} AND ${condition})`
  return sql`
    CASE WHEN ${among(sql`(c.state ->> 'status') = 'disabled'`)} THEN 0
      WHEN ${among(sql`(c.state ->> 'status') = 'failing'`)} THEN 1
      WHEN t.seq IN (${waitingRelayers(sql)}) THEN 2
      WHEN ${among(sql`(c.state ->> 'status') = 'degraded'`)} THEN 3
      WHEN ${among(sql`(c.state ->> 'told_low') = 'true'`)} THEN 4
      ELSE 5 END`
}

const iso = (sql: SqlClient.SqlClient, at: Statement.Fragment) =>
  sql`to_char(${at} AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"')`

/**
 * The open transactions of a relayer. Their states are neighbours in the order of text, so that the index is searched once; a list of
 * states would make PostgreSQL before version 17 search it once for each state.
 */
const openTransactions = (sql: SqlClient.SqlClient) =>
  sql`o.relayer_number = t.seq AND o.state BETWEEN 'mined' AND 'submitted'`

/** The checks of relayers `t`, which `listed` reads. A join, so that PostgreSQL may read a small table at once instead of each row by the index. */
const joinedChecks = (sql: SqlClient.SqlClient) => sql`LEFT JOIN relayer_checks c ON c.relayer_id = t.id`

/** The JSON of `ListedHealth`, or null. */
const listedHealth = (sql: SqlClient.SqlClient) => {
  /** Its checks succeed, and a transaction waits. */
  const isStopped = sql`((c.state ->> 'status') IN ('healthy', 'degraded') AND open.first IS NOT NULL)`
  return sql`
  CASE WHEN c.relayer_id IS NOT NULL THEN (
    SELECT json_strip_nulls(json_build_object(
      'state', CASE WHEN ${isStopped} THEN 'waiting' ELSE c.state ->> 'status' END,
      'code', coalesce(
        c.state -> 'reason' ->> 'type',
        CASE WHEN ${isStopped} THEN open.first[2] END,
        CASE WHEN c.state ->> 'status' = 'degraded' THEN 'provider_failed' END,
        CASE WHEN c.state ->> 'told_low' = 'true' THEN 'low_balance' END
      ),
      'since', CASE WHEN ${isStopped} THEN open.first[3] ELSE ${iso(sql, sql`c.since`)} END,
      'balance', c.reading ->> 'balance',
      'read_at', ${iso(sql, sql`c.read_at`)},
      'open', open.count,
      'oldest_open_at', ${iso(sql, sql`open.oldest`)},
      'last_confirmed_at', ${iso(
        sql,
        sql`(
          SELECT o.final_at FROM transactions o
          WHERE o.relayer_number = t.seq AND o.state = 'confirmed' AND o.origin = 'request' ORDER BY -o.number LIMIT 1)`
      )}
    ))::text
    FROM (
      SELECT count(*) AS count, min(o.created_at) AS oldest,
        -- The one that was accepted first, of those that wait: its number, so that it is the least, its code, and since when.
        min(ARRAY[lpad(o.number::text, 20, '0'), o.code, ${iso(sql, sql`o.code_since`)}])
          FILTER (WHERE ${isWaiting(sql)}) AS first
      FROM transactions o WHERE ${openTransactions(sql)}
    ) open
  ) END`
}

// The orders of the list of relayers, in SQL. Each ends with `seq`, so that no two relayers have the same position.

/** The position of a relayer. */
export interface RelayerPosition {
  /** The value that the order compares first: `key` as text. */
  readonly key: string
  /** Creation order. */
  readonly seq: number
}

export interface RelayerOrder {
  readonly by: Statement.Fragment
  /** The expression that is compared before the creation order. Absent: only the creation order counts. */
  readonly key?: Statement.Fragment
  /** Selects the relayers after a position. */
  readonly after: (position: RelayerPosition) => Statement.Fragment
  /** Skips `offset` relayers of an unfiltered list, by the counts of `relayer_blocks`. Absent: OFFSET has to be used. */
  readonly skip?: (offset: number) => Skipped
}

interface Skipped {
  readonly with: Statement.Fragment
  readonly where: Statement.Fragment
  /** The number of relayers to skip inside the first block. */
  readonly offset: Statement.Fragment
}

/** Sequence numbers per row of `relayer_blocks`. */
const blockSize = 8192

const firstBlock = (sql: SqlClient.SqlClient, offset: number, direction: Statement.Fragment) => ({
  with: sql`
    WITH start AS MATERIALIZED (
      SELECT block, (upto - count)::bigint AS before
      FROM (
        SELECT block, sum(count) AS count, sum(sum(count)) OVER (ORDER BY block ${direction}) AS upto
        FROM relayer_blocks GROUP BY block
      ) blocks
      WHERE upto > ${offset} ORDER BY block ${direction} LIMIT 1
    )`,
  offset: sql`${offset}::bigint - (SELECT before FROM start)`
})

/** The order for `relayers t`. Each order has an index, except `attention`, which sorts all relayers. */
const orderOf = (sql: SqlClient.SqlClient, sort: RelayerSort): RelayerOrder => {
  switch (sort) {
    case "created_at":
      return {
        by: sql`t.seq`,
        after: ({ seq }) => sql`t.seq > ${seq}`,
        skip: (offset) => ({
          ...firstBlock(sql, offset, sql`ASC`),
          where: sql`t.seq >= (SELECT block * ${blockSize} FROM start)`
        })
      }
    case "-created_at":
      return {
        by: sql`t.seq DESC`,
        after: ({ seq }) => sql`t.seq < ${seq}`,
        skip: (offset) => ({
          ...firstBlock(sql, offset, sql`DESC`),
          where: sql`t.seq < (SELECT (block + 1) * ${blockSize} FROM start)`
        })
      }
    case "name":
      return {
        by: sql`t.name COLLATE "C", t.seq`,
        key: sql`t.name`,
        after: ({ key, seq }) => sql`(t.name COLLATE "C", t.seq) > (${key}, ${seq})`
      }
    case "-name":
      return {
        by: sql`t.name COLLATE "C" DESC, t.seq DESC`,
        key: sql`t.name`,
        after: ({ key, seq }) => sql`(t.name COLLATE "C", t.seq) < (${key}, ${seq})`
      }
    case "attention": {
      const rank = urgencyOf(sql)
      return {
        by: sql`${rank}, t.seq`,
        key: rank,
        after: ({ key, seq }) => sql`(${rank}, t.seq) > (${Number(key)}::integer, ${seq}::bigint)`
      }
    }
  }
}

export interface RelayerSelection {
  readonly request: PageRequest
  readonly filter: RelayerFilter
  /** For the caller, only these relayers exist. `undefined`: all. */
  readonly ids: ReadonlyArray<string> | undefined
  readonly sort: RelayerSort
  /** Whether each relayer has its `health`. */
  readonly hasHealth: boolean
  /** From the cursor: the last relayer of the previous page, and the total. `undefined`: the request has no cursor. */
  readonly from: { readonly position: RelayerPosition; readonly total: number } | undefined
}

/** Relayers that fit on any page, whatever their size. */
const maxSmall = maxPageBytes / maxResourceBytes

/** A page. `last` is its last relayer if another page follows. */
export interface FoundPage {
  readonly page: StoredPage
  /** The relayers on the page, fewer than asked for if they did not fit. */
  readonly served: number
  readonly isCut: boolean
  readonly last: RelayerPosition | undefined
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
    const { key = sql`''` } = orderOf(sql, sort)
    const health = hasHealth ? listedHealth(sql) : sql`NULL`
    return selectRows(sql, {
      table: "relayers",
      columns: sql`t.id, ${json} AS json, t.mac, ${key} AS key, ${health} AS health`,
      ...(hasHealth ? { joins: joinedChecks(sql) } : {})
    })
  }

  const small = (selection: RelayerSelection) => selecting(selection, shown)

  const large = (selection: RelayerSelection) => {
    const { sort, from } = selection
    const before = bytesBefore(sql, bytes, orderOf(sql, sort).by)
    const most = from === undefined ? maxNumberedBytes : maxPageBytes
    return selecting(selection, sql`CASE WHEN ${before} < ${most} THEN ${shown} END`)
  }
  const macs = yield* RelayerMacs
  const counted = sql`(SELECT sum(count)::bigint FROM relayer_counts)`

  const conditions = ({ q, state, ...equal }: RelayerFilter, ids: ReadonlyArray<string> | undefined) => [
    ...Object.entries(equal).map(([column, value]) => sql`t.${sql(column)} = ${value}`),
    ...(state === undefined ? [] : [hasHealthState(sql, state)]),
    ...(q === undefined ? [] : [sql`strpos(lower(t.name), lower(${q})) + strpos(lower(t.id), lower(${q})) > 0`]),
    ...(ids === undefined ? [] : [sql`${sql.in("id", ids)}`])
  ]

  /** Where the page starts: after the cursor, in the block that contains the offset, or at an offset from the first row. */
  const walk = ({ request, filter, ids, sort, from }: RelayerSelection) => {
    const where = conditions(filter, ids)
    const order = orderOf(sql, sort)
    if (from !== undefined) {
      const after = sql.and([...where, order.after(from.position)])
      return { where: after, orderBy: order.by, offset: 0, total: sql`${from.total}::bigint` }
    }
    if (where.length > 0) return { where: sql.and(where), orderBy: order.by, offset: request.offset }
    const skip = request.offset < blockSize ? undefined : order.skip?.(request.offset)
    return { orderBy: order.by, total: counted, ...(skip ?? { offset: request.offset }) }
  }

  /** One verification for all rows, because it remembers what it has verified. Each alone if one was changed. */
  const readable = <Row extends Parameters<typeof authenticated>[0]>(rows: ReadonlyArray<Row>) =>
    Effect.catchCause(
      Effect.map(macs.verify(rows.map(authenticated)), (): Readable<Row> => ({ items: rows, unreadable: [] })),
      () => splitVerified(rows, (row) => macs.verify([authenticated(row)]))
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

// The cursors of the list of relayers. A cursor contains the position where the next page starts, the number of that page,
// and the total when the first page was served, so that later pages do not count again.

/** Sequence number, key of the order, page number, total. */
const CursorContent = Schema.Tuple([Schema.Int, Schema.String, Schema.Int, Schema.Int])
const decodeCursor = Schema.decodeUnknownEffect(CursorContent)

/** The list that a cursor belongs to. */
const listOf = ({ filter, ids, sort }: Pick<RelayerSelection, "filter" | "ids" | "sort">) =>
  JSON.stringify(["relayers", sort, Object.entries(filter).sort(), ids])

/** The selection for a query. For the caller, only the relayers `ids` exist; `undefined` means all. */
export const readCursor = Effect.fnUntraced(function* (
  cursors: Cursors["Service"],
  { page, per_page, cursor, sort = "created_at", include, ...filter }: RelayerQuery,
  ids: ReadonlyArray<string> | undefined
): Effect.fn.Return<RelayerSelection, BadRequest> {
  const numbers = per_page === undefined ? {} : { per_page }
  const selected = { filter, ids, sort, hasHealth: include === "health" }
  if (cursor === undefined) {
    return {
      ...selected,
      request: pageRequest({ ...numbers, ...(page === undefined ? {} : { page }) }),
      from: undefined
    }
  }
  if (page !== undefined) return yield* BadRequest.of([{ field: "page", message: "cannot be given with a cursor" }])
  const at = yield* cursors.read(listOf(selected), cursor)
  const [seq, key, number, total] = yield* Effect.orDie(decodeCursor(at))
  return { ...selected, request: pageRequest({ ...numbers, page: number }), from: { position: { seq, key }, total } }
})

/** The cursor of the page after `last`, which is the last relayer of a page. */
export const nextCursor = (
  cursors: Cursors["Service"],
  selection: RelayerSelection,
  page: Omit<Page<Relayer>, "items">,
  last: RelayerPosition
): Effect.Effect<string> => cursors.make(listOf(selection), [last.seq, last.key, page.request.page + 1, page.total])
