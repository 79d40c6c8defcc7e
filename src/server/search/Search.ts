// Finds resources for a caller by what a person has at hand: only those of the kinds that the caller may read.
import { Effect, Option, Schema } from "effect"
import type { Statement } from "effect/sql"
import type { Scope } from "../../domain/access/ApiKey.ts"
import * as Caller from "../../domain/access/Caller.ts"
import { NetworkId } from "../../domain/network/Network.ts"
import { RelayerId } from "../../domain/relayer/Relayer.ts"
import { maxFound, termsOf } from "../../domain/search/Search.ts"
import type { FoundItem, SearchQuery, Terms } from "../../domain/search/Search.ts"
import { statusOf } from "../../networks/core/Presentation.ts"
import type { State } from "../../networks/core/Transaction.ts"
import { client, query } from "../../sql/Transaction.ts"
import * as Rows from "../../sql/Rows.ts"
import { Ledger } from "../ledger/Ledger.ts"
import { Audit } from "../audit/Audit.ts"
import { Networks } from "../networks/Networks.ts"
import { Relayers } from "../relayers/Relayers.ts"

// Looks resources up by what a person has at hand. Each condition has an index.

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

const makeSearchRepo = Effect.gen(function* () {
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
      ORDER BY t.number DESC LIMIT ${maxFound}`.pipe(Effect.flatMap(readTransactions), query("Search.transactions"))

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
      ORDER BY t.seq LIMIT ${maxFound}`.pipe(Effect.flatMap(readNamed), query("Search.relayers"))
  }

  /** By their ids. */
  const byIds = (table: "signers" | "notifications" | "api_keys", ids: ReadonlyArray<string>) => {
    const name = table === "api_keys" ? sql`t.name` : sql`t.id`
    return sql`SELECT t.id, ${name} AS name FROM ${sql(table)} t WHERE t.id = ANY(${ids}::text[])`.pipe(
      Effect.flatMap(readNamed),
      query("Search.byIds")
    )
  }

  return { transactions, relayers, byIds }
})

const decodeNetworkId = Schema.decodeOption(NetworkId)

const named =
  (kind: FoundItem["kind"]) =>
  ({ id, name }: { readonly id: string; readonly name: string }): FoundItem => ({ kind, id, label: name })

export const make = Effect.gen(function* () {
  const repo = yield* makeSearchRepo
  const networks = yield* Networks
  const relayers = yield* Relayers
  const ledger = yield* Ledger
  const audit = yield* Audit

  /** The transaction of a relayer with this nonce or sequence. */
  const atPlace = Effect.fnUntraced(
    function* ({ place }: Terms) {
      if (place === undefined) return []
      const relayerNumber = yield* relayers.numberOf(RelayerId.make(place.relayerId))
      return [(yield* ledger.bySequence(relayerNumber, place.sequence)).id]
    },
    Effect.catchTag(["RelayerNotFound", "TransactionNotFound"], () => Effect.succeed([]))
  )

  const network = Effect.fnUntraced(function* (text: string) {
    const id = Option.getOrUndefined(decodeNetworkId(text))
    if (id === undefined) return []
    const found = Option.getOrUndefined(yield* Effect.option(networks.get(id)))
    return found === undefined ? [] : [{ id, name: found.value.name }]
  })

  const find = Effect.fn("Search.find")(function* ({ q }: SearchQuery) {
    const caller = yield* Caller.current
    const terms = termsOf(q)
    const { text } = terms
    if (text === "") return []
    const { relayerIds } = caller
    const of = (scope: Scope, found: Effect.Effect<ReadonlyArray<FoundItem>>) =>
      Caller.hasScope(caller, scope) ? found : Effect.succeed<ReadonlyArray<FoundItem>>([])
    /** Finds resources that belong to no relayer. A key that is limited to relayers does not see them. */
    const ofAll = (scope: Scope, found: Effect.Effect<ReadonlyArray<FoundItem>>) =>
      relayerIds === undefined ? of(scope, found) : Effect.succeed<ReadonlyArray<FoundItem>>([])

    const changed = terms.requestId === undefined ? [] : yield* audit.changedBy(terms.requestId, maxFound)
    const changedOf = (kind: FoundItem["kind"]) =>
      changed.filter(({ resource }) => resource === kind).map(({ id }) => id)

    const transactions = Effect.gen(function* () {
      const known = [...(yield* atPlace(terms)), ...changedOf("transaction")]
      const rows = yield* repo.transactions(terms, known, relayerIds)
      return rows.map(({ id, relayer_id, external_id, state }): FoundItem => ({
        kind: "transaction",
        id,
        relayer_id,
        label: external_id ?? id,
        state: statusOf(state as State)
      }))
    })
    const ofRelayers = Effect.map(repo.relayers(terms, changedOf("relayer"), relayerIds), (rows) =>
      rows.map(named("relayer"))
    )
    const byIds = (kind: FoundItem["kind"], table: Parameters<typeof repo.byIds>[0]) =>
      Effect.map(repo.byIds(table, [text, ...changedOf(kind)]), (rows) => rows.map(named(kind)))
    const ofNetworks = Effect.forEach(new Set([text, ...changedOf("network")]), network)

    const found = yield* Effect.all([
      of("transactions:read", transactions),
      of("relayers:read", ofRelayers),
      ofAll("signers:read", byIds("signer", "signers")),
      ofAll("notifications:read", byIds("notification", "notifications")),
      ofAll(
        "networks:read",
        Effect.map(ofNetworks, (found) => found.flat().map(named("network")))
      ),
      ofAll("api-keys:read", byIds("key", "api_keys"))
    ])
    return found.flat().slice(0, maxFound)
  })

  return { find }
})
