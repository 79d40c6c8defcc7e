// The rows with a MAC, of all tables that have one: what the MAC authenticates, and what else shows whether a row is as the service wrote it.
import { Effect, Schema } from "effect"
import { client, query } from "../../sql/Query.ts"
import * as Rows from "../../sql/Rows.ts"
import { signer } from "./SealedRepo.ts"

/** A table with a MAC. `content` is an expression of SQL that returns what the feature authenticates, as JSON. */
export interface AuthenticatedTable {
  readonly table: string
  readonly content: string
  /** The kind of resource in the audit log. */
  readonly resource: "signer" | "relayer" | "network"
  /** The sealed value of a row, and the column that it is bound to, as expressions of SQL. Absent: none that says something about the content. */
  readonly sealed?: { readonly value: string; readonly column: string }
}

export const authenticatedTables: ReadonlyArray<AuthenticatedTable> = [
  {
    table: "signers",
    content: signer,
    resource: "signer",
    sealed: {
      value: "coalesce(key_sealed, config_sealed)",
      column: "CASE WHEN key_sealed IS NULL THEN 'config' ELSE 'key' END"
    }
  },
  {
    table: "relayers",
    content:
      "jsonb_build_object('network_type', network_type, 'network', network, 'signer_id', signer_id, 'address', address)",
    resource: "relayer"
  },
  {
    table: "networks",
    content: "jsonb_build_object('definition', definition)",
    resource: "network",
    sealed: { value: "rpc_urls_sealed", column: "'rpc_urls'" }
  }
]

const Row = Schema.Struct({ id: Schema.String, content: Schema.Unknown, mac: Schema.NullOr(Schema.String) })
export type Row = typeof Row.Type

const readRows = Rows.all(Row)

const Detail = Schema.Struct({
  ...Row.fields,
  sealed: Schema.NullOr(Schema.Uint8Array),
  column: Schema.NullOr(Schema.String),
  /** Whether the row was written before the stored secret of MACs. Null: none is stored. */
  is_older: Schema.NullOr(Schema.Boolean)
})
export type Detail = typeof Detail.Type

const readDetail = Rows.first(Detail)

export interface Authenticated {
  readonly id: string
  readonly mac: string
}

export const make = Effect.gen(function* () {
  const sql = yield* client
  const columns = ({ content }: AuthenticatedTable) => sql`id, ${sql.literal(content)} AS content, mac`

  /** Rows ordered by id, after the id `after`. */
  const page = (authenticated: AuthenticatedTable, after: string, limit: number) =>
    sql`
      SELECT ${columns(authenticated)} FROM ${sql(authenticated.table)}
      WHERE id > ${after} ORDER BY id LIMIT ${limit}`.pipe(Effect.flatMap(readRows), query("AuthenticatedRepo.page"))

  const among = (authenticated: AuthenticatedTable, ids: ReadonlyArray<string>) =>
    sql`
      SELECT ${columns(authenticated)} FROM ${sql(authenticated.table)} WHERE id = ANY(${ids}::text[])`.pipe(
      Effect.flatMap(readRows),
      query("AuthenticatedRepo.among")
    )

  /**
   * `is_older` compares the transactions that last wrote the two rows: a rotation of the master key writes the secret again. `lock`: until
   * the running transaction ends.
   */
  const detail = (authenticated: AuthenticatedTable, id: string, lock: boolean) =>
    sql`
      SELECT ${columns(authenticated)}, ${sql.literal(authenticated.sealed?.value ?? "NULL::bytea")} AS sealed,
        ${sql.literal(authenticated.sealed?.column ?? "NULL")} AS column,
        (SELECT age(t.xmin) > age(s.xmin) FROM service_secrets s WHERE s.name = 'row_macs') AS is_older
      FROM ${sql(authenticated.table)} t WHERE id = ${id} ${lock ? sql`FOR UPDATE` : sql``}`.pipe(
      Effect.flatMap(readDetail),
      query("AuthenticatedRepo.detail")
    )

  /** Replaces the MAC of a row that the running transaction has locked. */
  const accept = ({ table }: AuthenticatedTable, { id, mac }: Authenticated) =>
    sql`UPDATE ${sql(table)} SET mac = ${mac} WHERE id = ${id}`.pipe(Effect.asVoid, query("AuthenticatedRepo.accept"))

  return { page, among, detail, accept }
})
