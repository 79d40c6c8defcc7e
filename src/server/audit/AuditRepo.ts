// The table `audit`.
import { DateTime, Effect, Option, Schema } from "effect"
import { Hex } from "effect/encoding"
import type { Statement } from "effect/sql"
import { AuditRecord } from "../../domain/audit/Audit.ts"
import type { AuditFilter } from "../../domain/audit/Audit.ts"
import { parse } from "../../domain/request/ExactJson.ts"
import * as Rows from "../../sql/Rows.ts"
import { selectFitting, unnestRows } from "../../sql/Rows.ts"
import * as Transaction from "../../sql/Transaction.ts"
import { client, query } from "../../sql/Transaction.ts"
import { ChainedRow } from "./Chain.ts"
import type { Link } from "./Chain.ts"

/** The fields that a change writes. The database adds id and time, `link` adds the position in the chain. */
export type NewRecord = Omit<ChainedRow, "id" | "at_micros">

export interface Selection extends AuditFilter {
  readonly limit: number
  readonly newestFirst: boolean
  /** The selection begins after this position, in its order. */
  readonly after?: number
}

const json = (column: unknown) => parse(String(column))

const Row = Rows.withoutNulls(AuditRecord, { position: Number, before: json, after: json })
const readRecords = Rows.allPaced(Row)

const link = { position: Rows.Integer, hash: Schema.Uint8Array }
const readLast = Rows.one(Schema.Struct({ position: Rows.Integer }))
const readHash = Rows.first(Schema.Struct({ hash: Schema.String }))
const readHead = Rows.first(Schema.Struct(link))
const readUnlinked = Rows.all(ChainedRow)
const readLinked = Rows.all(Schema.Struct({ ...ChainedRow.fields, ...link }))
const readCount = Rows.one(Schema.Struct({ count: Rows.Integer }))

/** Returns the links of `rows`, in the order of the rows, after `head`. */
type MakeLinks = (rows: ReadonlyArray<ChainedRow>, head: Link | undefined) => ReadonlyArray<Link>

/** What one query reads: at least one row, and no further row beyond these limits. */
export interface Batch {
  readonly rows: number
  /** Bytes of the resources in the records. */
  readonly bytes: number
}

/** The advisory lock of the transaction that links: one at a time, of all instances. */
const linkLock = 7_226_801_141n

/** A resource as records name it. */
export interface ResourceName {
  readonly resource: string
  readonly id: string
}

/** Ends of the actions that change a resource. */
const changes = ["created", "updated", "credentials_replaced", "deleted"]

const readNames = Rows.all(Schema.Struct({ resource: Schema.String, id: Schema.String }))

const readLastChanges = Rows.all(
  Schema.Struct({
    resource: Schema.String,
    id: Schema.String,
    at: Schema.String,
    key_id: Schema.String,
    before: Schema.NullOr(Schema.String),
    after: Schema.NullOr(Schema.String)
  })
)

export const make = Effect.gen(function* () {
  const sql = yield* client
  const transaction = yield* Transaction.make
  const micros = sql`(extract(epoch FROM at) * 1000000)::bigint::text AS at_micros`
  const hashed = sql`id::text AS id, ${micros}, key_id, action, resource, resource_id, request_id,
    client_address, before::text AS before, after::text AS after`

  // The partial index `audit_unlinked_idx` has the same condition.
  const unlinked = sql`hash IS NULL`

  // Until the end of the transaction. A bitmap scan reads the index entries of all records that were linked since the last VACUUM; an
  // index scan marks such entries, so that later scans skip them.
  const withoutBitmaps = sql`set_config('enable_bitmapscan', 'off', true)`

  /** Bytes of both versions of the resource in a record. */
  const size = sql`coalesce(octet_length(before::text), 0) + coalesce(octet_length(after::text), 0)`

  // What the service never writes, but somebody else may have, must not keep the rest from being linked and verified: a
  // linked record without a hash, or a position beyond 2^53.
  const position = sql`least(position, ${String(Number.MAX_SAFE_INTEGER)}::bigint) AS position`
  const hash = sql`coalesce(hash, ''::bytea) AS hash`

  const shown = sql`${position}, to_json(at) #>> '{}' AS at, key_id, action, resource, resource_id, request_id,
    client_address, before::text AS before, after::text AS after, coalesce(encode(hash, 'hex'), '') AS hash`

  /** Appends the records that a query names, in the order of its column `n`. */
  const appendFrom = (records: Statement.Fragment) => sql`
    INSERT INTO audit (key_id, action, resource, resource_id, request_id, client_address, before, after)
    SELECT key_id, action, resource, resource_id, request_id, client_address, before::json, after::json
    FROM ${records} ORDER BY n`

  /** Appends the records in their order. */
  const append = (records: ReadonlyArray<NewRecord>) =>
    appendFrom(unnestRows(sql, records)).pipe(Effect.asVoid, query("AuditRepo.append"))

  /** The last record of a change of each resource, also if it is not linked yet. Checks and signatures are no changes. */
  const lastChanges = (resources: ReadonlyArray<ResourceName>) =>
    sql`
      SELECT given.resource, given.id, to_json(last.at) #>> '{}' AS at, last.key_id, last.before, last.after
      FROM unnest(${resources.map(({ resource }) => resource)}::text[], ${resources.map(({ id }) => id)}::text[]) AS given (resource, id)
      JOIN LATERAL (
        SELECT a.at, a.key_id, a.before::text AS before, a.after::text AS after FROM audit a
        WHERE a.resource = given.resource AND a.resource_id = given.id
          AND split_part(a.action, '.', 2) = ANY(${changes}::text[])
        ORDER BY a.position DESC NULLS FIRST, a.id DESC LIMIT 1
      ) last ON true`.pipe(Effect.flatMap(readLastChanges), query("AuditRepo.lastChanges"))

  /** The resources that a request has changed, by linked records. */
  const changedBy = (requestId: string, limit: number) =>
    sql`
      SELECT DISTINCT a.resource, a.resource_id AS id FROM audit a
      WHERE a.request_id = ${requestId} AND a.position IS NOT NULL LIMIT ${limit}`.pipe(
      Effect.flatMap(readNames),
      query("AuditRepo.changedBy")
    )

  const lastLink = Effect.flatMap(
    sql`SELECT ${position}, ${hash} FROM audit WHERE position IS NOT NULL ORDER BY audit.position DESC LIMIT 1`,
    readHead
  )

  const linkRows = Effect.fnUntraced(function* (limit: number, makeLinks: MakeLinks) {
    yield* sql`SELECT pg_advisory_xact_lock(${linkLock}), ${withoutBitmaps}`
    const found = yield* selectFitting(sql, {
      rows: sql`SELECT * FROM audit WHERE ${unlinked} AND position IS NULL ORDER BY id LIMIT ${limit}`,
      columns: hashed,
      size,
      orderBy: sql`id::bigint`
    })
    const rows = yield* readUnlinked(found.rows)
    if (rows.length === 0) return false
    const head = yield* lastLink
    const links = makeLinks(rows, Option.getOrUndefined(head))
    const text = JSON.stringify(
      links.map(({ position, hash }, index) => ({
        id: rows[index]?.id,
        position,
        hash: Hex.encode(hash)
      }))
    )
    yield* sql`
      UPDATE audit SET position = link.position, hash = decode(link.hash, 'hex')
      FROM json_to_recordset(${text}::text::json) AS link (id bigint, position bigint, hash text)
      WHERE audit.id = link.id`
    return found.isCut || rows.length === limit
  })

  /**
   * Links at most `limit` committed records to the chain, and no further ones beyond 1 MiB. Waits for other instances that
   * are linking. Returns whether there may be more.
   */
  const link = (limit: number, makeLinks: MakeLinks) =>
    transaction(linkRows(limit, makeLinks)).pipe(query("AuditRepo.link"))

  /** The number of committed records that are not linked yet. */
  const countUnlinked = sql`SELECT count(*) AS count FROM audit WHERE ${unlinked}`.pipe(
    Effect.flatMap(readCount),
    Effect.map(({ count }) => count),
    query("AuditRepo.countUnlinked")
  )

  /**
   * Linked records after a position, in order, in the form that is hashed. A missing hash is empty. The recursion reads one
   * record at a time and none beyond the limits, because a large record takes a while to decompress.
   */
  const rows = (after: number, batch: Batch) =>
    sql`
      WITH RECURSIVE read AS (
        (SELECT audit.*, ${size} AS bytes, 1 AS n FROM audit
          WHERE position > ${after} ORDER BY audit.position LIMIT 1)
        UNION ALL
        SELECT following.*, n + 1 FROM read, LATERAL (
          SELECT audit.*, read.bytes + ${size} AS bytes FROM audit
          WHERE audit.position > read.position ORDER BY audit.position LIMIT 1
        ) following WHERE n < ${batch.rows} AND read.bytes < ${batch.bytes}
      )
      SELECT ${hashed}, ${position}, ${hash} FROM read ORDER BY read.position`.pipe(
      Effect.flatMap(readLinked),
      query("AuditRepo.rows")
    )

  /** The last position of the chain; 0 if there is none. */
  const last = sql`
    SELECT least(coalesce(max(position), 0), ${String(Number.MAX_SAFE_INTEGER)}::bigint) AS position FROM audit`.pipe(
    Effect.flatMap(readLast),
    Effect.map(({ position }) => position),
    query("AuditRepo.last")
  )

  /** The last record of the chain. */
  const head = lastLink.pipe(
    Effect.map(Option.map(({ position, hash }) => ({ position, hash: Hex.encode(hash) }))),
    query("AuditRepo.head")
  )

  /** The hash at a position, in hex. */
  const hashAt = (position: number) =>
    sql`SELECT coalesce(encode(hash, 'hex'), '') AS hash FROM audit WHERE position = ${position}`.pipe(
      Effect.flatMap(readHash),
      Effect.map(Option.map(({ hash }) => hash)),
      query("AuditRepo.hashAt")
    )

  /** Of limited size: `isFull` if there may be further records. */
  const select = ({ limit, newestFirst, after, since, until, ...equal }: Selection) => {
    const conditions = [
      sql`position > (SELECT coalesce(max(position), 0) FROM audit_checkpoints WHERE pruned_at IS NOT NULL)`,
      ...Object.entries(equal).map(([column, value]) => sql`${sql(column)} = ${value}`),
      ...(since === undefined ? [] : [sql`at >= ${DateTime.toDate(since)}`]),
      ...(until === undefined ? [] : [sql`at < ${DateTime.toDate(until)}`]),
      ...(after === undefined ? [] : [newestFirst ? sql`position < ${after}` : sql`position > ${after}`])
    ]
    const direction = sql.literal(newestFirst ? "DESC" : "ASC")
    const rows = sql`
      SELECT * FROM audit WHERE ${sql.and(conditions)} ORDER BY audit.position ${direction} LIMIT ${limit + 1}`
    return Effect.gen(function* () {
      const found = yield* selectFitting(sql, {
        rows,
        columns: shown,
        size,
        orderBy: sql`position ${direction}`
      })
      const records = (yield* readRecords(found.rows)).slice(0, limit)
      return { records, isFull: found.isCut || found.rows.length > limit }
    }).pipe(query("AuditRepo.select"))
  }

  return { append, appendFrom, lastChanges, changedBy, link, countUnlinked, rows, last, head, hashAt, select }
})

export type AuditRepo = Effect.Success<typeof make>
