// Looks resources up by what a person has at hand. Each condition has an index.
import { Effect, Schema } from "effect"
import type { Statement } from "effect/sql"
import { maxFound } from "../../domain/search/Search.ts"
import type { Terms } from "../../domain/search/Search.ts"
import { client, query } from "../../sql/Query.ts"
import * as Rows from "../../sql/Rows.ts"

const Transaction = Rows.withoutNulls(
  Schema.Struct({
    id: Schema.String,
    relayer_id: Schema.String,
    external_id: Schema.optionalKey(Schema.String),
    state: Schema.String
  })
)

const readTransactions = Rows.all(Transaction)
const readNamed = Rows.all(Schema.Struct({ id: Schema.String, name: Schema.String }))

/** The last code point in the order of `COLLATE "C"`. */
const last = "\u{10ffff}"

/** `undefined`: all relayers. */
type Ids = ReadonlyArray<string> | undefined

export const make = Effect.gen(function* () {
  const sql = yield* client
  const among = (column: Statement.Fragment, ids: Ids) =>
    ids === undefined ? [] : [sql`${column} = ANY(${ids}::text[])`]

  /** Ids of transactions, one statement per index. */
  const idsOf = ({ uuid, hashes, text }: Terms, known: ReadonlyArray<string>) => [
    sql`SELECT unnest(${[...(uuid === undefined ? [] : [uuid]), ...known]}::uuid[]) AS id`,
    ...(hashes.length === 0
      ? []
      : [sql`(SELECT transaction_id AS id FROM attempts WHERE hash = ANY(${hashes}::text[]) LIMIT ${maxFound})`]),
    sql`(SELECT id FROM transactions WHERE external_id = ${text} LIMIT ${maxFound})`
  ]

  /**
   * `known`: ids of further transactions. If a deleted relayer had the same id as a present one, a caller that is limited to
   * relayers does not see the transactions of the deleted relayer.
   */
  const transactions = (terms: Terms, known: ReadonlyArray<string>, relayerIds: Ids) =>
    sql`
      SELECT t.id::text AS id, t.relayer_id, t.external_id, t.state FROM transactions t
      WHERE t.id = ANY(ARRAY(${sql.join(" UNION ", false)(idsOf(terms, known))})) AND ${sql.and([
        sql`t.origin = 'request'`,
        ...(relayerIds === undefined
          ? []
          : [sql`t.relayer_number IN (SELECT r.seq FROM relayers r WHERE ${sql.and(among(sql`r.id`, relayerIds))})`])
      ])}
      ORDER BY t.number DESC LIMIT ${maxFound}`.pipe(Effect.flatMap(readTransactions), query("SearchRepo.transactions"))

  /** `known`: ids of further relayers. */
  const relayers = ({ text, address }: Terms, known: ReadonlyArray<string>, relayerIds: Ids) => {
    const found = [
      sql`SELECT r.seq FROM relayers r WHERE r.id = ANY(${[text, ...known]}::text[])`,
      ...(address === undefined
        ? []
        : [sql`(SELECT r.seq FROM relayers r WHERE r.address = ${address} LIMIT ${maxFound})`]),
      sql`(
        SELECT r.seq FROM relayers r
        WHERE ${sql.and([
          sql`r.name COLLATE "C" >= ${text}`,
          sql`r.name COLLATE "C" < ${text + last}`,
          ...among(sql`r.id`, relayerIds)
        ])} LIMIT ${maxFound})`
    ]
    return sql`
      SELECT t.id, t.name FROM relayers t
      WHERE ${sql.and([sql`t.seq = ANY(ARRAY(${sql.join(" UNION ", false)(found)}))`, ...among(sql`t.id`, relayerIds)])}
      ORDER BY t.seq LIMIT ${maxFound}`.pipe(Effect.flatMap(readNamed), query("SearchRepo.relayers"))
  }

  /** By their ids. */
  const byIds = (table: "signers" | "notifications" | "api_keys", ids: ReadonlyArray<string>) => {
    const name = table === "api_keys" ? sql`t.name` : sql`t.id`
    return sql`SELECT t.id, ${name} AS name FROM ${sql(table)} t WHERE t.id = ANY(${ids}::text[])`.pipe(
      Effect.flatMap(readNamed),
      query("SearchRepo.byIds")
    )
  }

  return { transactions, relayers, byIds }
})
