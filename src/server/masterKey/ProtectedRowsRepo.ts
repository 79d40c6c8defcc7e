// The columns with sealed values and the rows with a MAC, of all tables that have them.
import { Effect, Schema } from "effect"
import * as Rows from "../../sql/Rows.ts"
import { client, exclusiveTurn, query } from "../../sql/Transaction.ts"

/** A column of sealed values. Each value is bound to a place: `table`, the `id` of its row, `column`, and `context`. */
export interface SealedColumn {
  readonly table: string
  readonly id: string
  readonly sealed: string
  readonly column: string
  /** The context as an expression of SQL that returns JSON, equal to what the feature seals with. Absent: none. */
  readonly context?: string
  /** The column with the number of the row, if other transactions share locks of the row and take turns for it. */
  readonly turn?: string
}

/** What directs the secret of a signer. Only signers whose key stays in a key service have a curve and a public key. */
const signerContent = `jsonb_build_object('type', type, 'config', config, 'addresses', jsonb_strip_nulls(
  jsonb_build_object('evm', evm_address, 'solana', solana_address, 'stellar', stellar_address)))
  || jsonb_strip_nulls(jsonb_build_object('curve', curve, 'public_key', public_key))`

const receiverContent = "jsonb_build_object('url', url)"

export const sealedColumns: ReadonlyArray<SealedColumn> = [
  { table: "signers", id: "id", sealed: "key_sealed", column: "key", context: signerContent },
  { table: "signers", id: "id", sealed: "config_sealed", column: "config", context: signerContent },
  { table: "notifications", id: "id", sealed: "signing_key_sealed", column: "signing_key", context: receiverContent },
  {
    table: "notifications",
    id: "id",
    sealed: "previous_signing_key_sealed",
    column: "previous_signing_key",
    context: receiverContent
  },
  { table: "channel_keys", id: "address", sealed: "key_sealed", column: "key" },
  { table: "networks", id: "id", sealed: "rpc_urls_sealed", column: "rpc_urls" },
  { table: "networks", id: "id", sealed: "private_rpc_urls_sealed", column: "private_rpc_urls" },
  { table: "relayers", id: "id", sealed: "custom_rpc_urls_sealed", column: "custom_rpc_urls", turn: "seq" },
  {
    table: "relayers",
    id: "id",
    sealed: "custom_private_rpc_urls_sealed",
    column: "custom_private_rpc_urls",
    turn: "seq"
  },
  { table: "private_bytes", id: "id", sealed: "raw_sealed", column: "raw" },
  { table: "idempotency_keys", id: "id", sealed: "body_sealed", column: "body" },
  { table: "service_secrets", id: "name", sealed: "sealed", column: "sealed" }
]

/** `context` is null if the column has none. */
const Sealed = Schema.Struct({ id: Schema.String, sealed: Schema.Uint8Array, context: Schema.Unknown })
export type Sealed = typeof Sealed.Type

const readSealed = Rows.all(Sealed)

export interface Rewrapped extends Sealed {
  readonly rewrapped: Uint8Array
}

export const makeSealedRepo = Effect.gen(function* () {
  const sql = yield* client

  /** A stale value does not begin with `header`. */
  const isStale = ({ sealed }: SealedColumn, header: Uint8Array) =>
    sql`substring(${sql(sealed)} FROM 1 FOR ${header.length}::int) <> ${header}`

  /** Stale values, ordered by id, after the id `after`. */
  const stale = (column: SealedColumn, header: Uint8Array, after: string, limit: number) =>
    sql`
      SELECT ${sql(column.id)} AS id, ${sql(column.sealed)} AS sealed, ${sql.literal(column.context ?? "null")} AS context
      FROM ${sql(column.table)}
      WHERE ${isStale(column, header)} AND ${sql(column.id)} > ${after}
      ORDER BY ${sql(column.id)} LIMIT ${limit}`.pipe(Effect.flatMap(readSealed), query("SealedRepo.stale"))

  /** Replaces values that have not changed and are not locked, and returns how many. It does not wait for locks. */
  const replace = ({ table, id, sealed }: SealedColumn, values: ReadonlyArray<Rewrapped>) =>
    sql`
      WITH free AS (
        SELECT t.${sql(id)} AS id, given.after FROM ${sql(table)} t
        JOIN unnest(${values.map((value) => value.id)}::text[], ${values.map((value) => value.sealed)}::bytea[],
          ${values.map((value) => value.rewrapped)}::bytea[]) given (id, before, after)
          ON t.${sql(id)} = given.id AND t.${sql(sealed)} = given.before
        FOR NO KEY UPDATE OF t SKIP LOCKED
      )
      UPDATE ${sql(table)} t SET ${sql(sealed)} = free.after FROM free WHERE t.${sql(id)} = free.id
      RETURNING 1`.pipe(
      Effect.map((rows) => rows.length),
      query("SealedRepo.replace")
    )

  /**
   * Replaces one value that has not changed, after the transactions that share the lock of its row, and before later ones. It does not wait for
   * a transaction that changes the row. Returns how many. Must not be part of a transaction that has locks of other rows.
   */
  const replaceInTurn = ({ table, id, sealed }: SealedColumn, turn: string, value: Rewrapped) =>
    sql`
      WITH turn AS MATERIALIZED (
        SELECT ${exclusiveTurn(sql, sql`r.${sql(turn)}`)} FROM ${sql(table)} r WHERE r.${sql(id)} = ${value.id}
      ), free AS (
        SELECT t.${sql(id)} AS id FROM turn CROSS JOIN ${sql(table)} t
        WHERE t.${sql(id)} = ${value.id} AND t.${sql(sealed)} = ${value.sealed} FOR NO KEY UPDATE OF t SKIP LOCKED
      )
      UPDATE ${sql(table)} t SET ${sql(sealed)} = ${value.rewrapped} FROM free WHERE t.${sql(id)} = free.id
      RETURNING 1`.pipe(
      Effect.map((rows) => rows.length),
      query("SealedRepo.replaceInTurn")
    )

  /** Whether any column has a stale value. */
  const anyStale = Effect.fnUntraced(function* (header: Uint8Array) {
    for (const column of sealedColumns) {
      const [row] = yield* sql`SELECT 1 FROM ${sql(column.table)} WHERE ${isStale(column, header)} LIMIT 1`
      if (row !== undefined) return true
    }
    return false
  }, query("SealedRepo.anyStale"))

  return { stale, replace, replaceInTurn, anyStale }
})

// The rows with a MAC, of all tables that have one: what the MAC authenticates, and what else shows whether a row is as the service wrote it.

/** A sealed value of a row and the column that it is bound to, as expressions of SQL. */
interface SealedPart {
  readonly value: string
  readonly column: string
  /** Its masked form, which responses show, as JSON. Absent: responses do not show it. */
  readonly shown?: string
}

/** A table with a MAC. `content` is an expression of SQL that returns what the feature authenticates, as JSON. */
export interface AuthenticatedTable {
  readonly table: string
  readonly content: string
  /** The kind of resource in the audit log. */
  readonly resource: "signer" | "relayer" | "network"
  /** Those that say something about the row. */
  readonly sealed: ReadonlyArray<SealedPart>
}

export const authenticatedTables: ReadonlyArray<AuthenticatedTable> = [
  {
    table: "signers",
    content: signerContent,
    resource: "signer",
    sealed: [
      {
        value: "coalesce(key_sealed, config_sealed)",
        column: "CASE WHEN key_sealed IS NULL THEN 'config' ELSE 'key' END"
      }
    ]
  },
  {
    table: "relayers",
    content:
      "jsonb_build_object('network_type', network_type, 'network', network, 'signer_id', signer_id, 'address', address)",
    resource: "relayer",
    sealed: [
      { value: "custom_rpc_urls_sealed", column: "'custom_rpc_urls'", shown: "custom_rpc_urls" },
      {
        value: "custom_private_rpc_urls_sealed",
        column: "'custom_private_rpc_urls'",
        shown: "custom_private_rpc_urls"
      }
    ]
  },
  {
    table: "networks",
    content: "jsonb_build_object('definition', definition)",
    resource: "network",
    sealed: [
      { value: "rpc_urls_sealed", column: "'rpc_urls'", shown: "definition -> 'rpc_urls'" },
      { value: "private_rpc_urls_sealed", column: "'private_rpc_urls'", shown: "definition -> 'private_rpc_urls'" }
    ]
  }
]

const AuthenticatedRow = Schema.Struct({
  id: Schema.String,
  content: Schema.Unknown,
  mac: Schema.NullOr(Schema.String)
})
export type AuthenticatedRow = typeof AuthenticatedRow.Type

const readRows = Rows.all(AuthenticatedRow)

const RowDetail = Schema.Struct({
  ...AuthenticatedRow.fields,
  /** As in `AuthenticatedTable`. */
  sealed: Schema.Array(Schema.NullOr(Schema.Uint8Array)),
  /** Of each sealed value. */
  columns: Schema.Array(Schema.String),
  /** Of each sealed value. Null: the row shows none. */
  shown: Schema.Array(Schema.Unknown),
  /** Whether the row was written before the stored secret of MACs. Null: none is stored. */
  is_older: Schema.NullOr(Schema.Boolean)
})
export type RowDetail = typeof RowDetail.Type

const readDetail = Rows.first(RowDetail)

const listed = (sealed: AuthenticatedTable["sealed"], expression: (part: SealedPart) => string) =>
  sealed.map(expression).join(", ")

export interface AcceptedMac {
  readonly id: string
  readonly mac: string
}

export const makeAuthenticatedRepo = Effect.gen(function* () {
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
      SELECT ${columns(authenticated)},
        ARRAY[${sql.literal(listed(authenticated.sealed, ({ value }) => value))}]::bytea[] AS sealed,
        ARRAY[${sql.literal(listed(authenticated.sealed, ({ column }) => column))}]::text[] AS columns,
        jsonb_build_array(${sql.literal(listed(authenticated.sealed, ({ shown = "NULL" }) => shown))}) AS shown,
        (SELECT age(t.xmin) > age(s.xmin) FROM service_secrets s WHERE s.name = 'row_macs') AS is_older
      FROM ${sql(authenticated.table)} t WHERE id = ${id} ${lock ? sql`FOR UPDATE` : sql``}`.pipe(
      Effect.flatMap(readDetail),
      query("AuthenticatedRepo.detail")
    )

  /** Replaces the MAC of a row that the running transaction has locked. */
  const accept = ({ table }: AuthenticatedTable, { id, mac }: AcceptedMac) =>
    sql`UPDATE ${sql(table)} SET mac = ${mac} WHERE id = ${id}`.pipe(Effect.asVoid, query("AuthenticatedRepo.accept"))

  return { page, among, detail, accept }
})
