// Lists of the table `transactions`, newest first.
import { Effect, Schema } from "effect"
import type { Moment } from "../../../domain/transaction/Moment.ts"
import { maxCountedTransactions } from "../../../domain/transaction/Numbers.ts"
import { usualCodes } from "../../../domain/transaction/TransactionEvents.ts"
import type { Statement } from "effect/sql"
import { client, query } from "../../../sql/Query.ts"
import * as Rows from "../../../sql/Rows.ts"
import { selectFitting } from "../../../sql/Rows.ts"
import type { Filter, Selection } from "./Selection.ts"
import { LedgerRules } from "../LedgerRules.ts"
import * as TransactionRow from "../write/TransactionRow.ts"

/** Milliseconds by which the moments of two transactions can differ from the order of their numbers. */
const disorder = 60_000

/** A selection of at most as many is always whole: the usual page of 10, and the one after it. A request may have 256 kB of hex. */
const alwaysWhole = 11

const readCount = Rows.one(Schema.Struct({ count: Schema.Int }))

export const make = Effect.gen(function* () {
  const sql = yield* client
  const readRows = TransactionRow.reader(yield* LedgerRules)

  const size = sql`octet_length(request) + coalesce(octet_length(older), 0) + coalesce(octet_length(attempts), 0)`

  const moment = (at: Moment) => sql`to_timestamp(${at}::float8 / 1000)`

  /** The lowest number of a transaction that was accepted at or after a moment, found by halving: numbers follow time. */
  const numberAt = (at: Moment) => sql`(
    WITH RECURSIVE search (low, high) AS (
      SELECT coalesce(min(number), 0), coalesce(max(number), 0) + 1 FROM transactions
      UNION ALL
      SELECT CASE WHEN found.created_at < ${moment(at)} THEN found.number + 1 ELSE low END,
        CASE WHEN found.created_at < ${moment(at)} THEN high ELSE middle END
      FROM search
      CROSS JOIN LATERAL (SELECT (low + high) / 2 AS middle) halved
      CROSS JOIN LATERAL (
        SELECT t.number, t.created_at FROM transactions t WHERE t.number >= middle ORDER BY t.number LIMIT 1
      ) found
      WHERE low < high
    )
    SELECT max(low) FROM search)`

  /** For one relayer, the order of its own indexes. `from` and `to` are inclusive. */
  const orderOf = ({ relayerNumbers }: Filter) =>
    relayerNumbers?.length === 1
      ? {
          by: sql`-t.number`,
          from: (number: Statement.Fragment) => sql`-t.number <= -${number}`,
          to: (number: Statement.Fragment) => sql`-t.number >= -${number}`
        }
      : {
          by: sql`t.number DESC`,
          from: (number: Statement.Fragment) => sql`t.number >= ${number}`,
          to: (number: Statement.Fragment) => sql`t.number <= ${number}`
        }

  const stateOf = (states: ReadonlyArray<string>) =>
    states.length === 1 ? sql`t.state = ${states[0] ?? ""}` : sql`t.state = ANY(${states}::text[])`

  const relayersOf = (numbers: ReadonlyArray<number>) =>
    numbers.length === 1
      ? sql`t.relayer_number = ${numbers[0] ?? 0}::bigint`
      : sql`t.relayer_number = ANY(${numbers.map(String)}::bigint[])`

  /**
   * Open transactions by their code. An array of their ids, made from two parts, so that only the two partial indexes of open
   * transactions are read: the planner would walk all final ones for a rare code.
   */
  const waitingOf = ({ codes, isHeld, relayerNumbers }: Filter) => {
    if (codes === undefined && isHeld === undefined) return []
    const conditions = [
      ...(codes === undefined ? [] : [sql`t.code = ANY(${codes}::text[])`]),
      ...(isHeld === undefined ? [] : [sql`t.code <> ALL(${usualCodes}::text[])`]),
      ...(relayerNumbers === undefined ? [] : [relayersOf(relayerNumbers)])
    ]
    const idsOf = (states: Statement.Fragment) =>
      sql`SELECT t.id FROM transactions t WHERE ${sql.and([states, ...conditions])}`
    return [
      sql`t.id = ANY(ARRAY(
        ${idsOf(sql`t.state = 'pending'`)} UNION ALL ${idsOf(sql`t.state IN ('signed', 'submitted', 'mined')`)}))`
    ]
  }

  const conditionsOf = (filter: Filter) => {
    const { relayerNumbers, states = [], hash, externalId, createdAfter, createdBefore, origin = "request" } = filter
    const order = orderOf(filter)
    return [
      sql`t.origin = ${origin}`,
      ...(relayerNumbers === undefined ? [] : [relayersOf(relayerNumbers)]),
      ...(states.length === 0 ? [] : [stateOf(states)]),
      ...waitingOf(filter),
      ...(hash === undefined ? [] : [sql`t.id IN (SELECT transaction_id FROM attempts WHERE hash = ${hash})`]),
      ...(externalId === undefined ? [] : [sql`t.external_id = ${externalId}`]),
      ...(createdAfter === undefined
        ? []
        : [sql`t.created_at >= ${moment(createdAfter)} AND ${order.from(numberAt(createdAfter - disorder))}`]),
      ...(createdBefore === undefined
        ? []
        : [sql`t.created_at < ${moment(createdBefore)} AND ${order.to(numberAt(createdBefore + disorder))}`])
    ]
  }

  /**
   * The page is found once, and each of its rows by its id. `OFFSET 0` keeps the planner from turning that around: after a vacuum of an
   * empty table, it expects one row until the next analysis, and would find the page again for each of ten thousand rows.
   */
  const select = ({ filter, limit, after, offset = 0 }: Selection) => {
    const order = orderOf(filter)
    const from = after === undefined ? [] : [order.to(sql`${after - 1}::bigint`)]
    const rows = sql`
      SELECT ${TransactionRow.columns(sql)} FROM (
        SELECT t.id FROM transactions t WHERE ${sql.and([...conditionsOf(filter), ...from])}
        ORDER BY ${order.by} LIMIT ${limit} OFFSET ${offset}
      ) page CROSS JOIN LATERAL (SELECT * FROM transactions WHERE id = page.id OFFSET 0) t
      JOIN lanes l ON l.id = t.lane_id ORDER BY t.number DESC`
    const fitting = selectFitting(sql, { rows, size, orderBy: sql`number DESC` })
    const whole = Effect.map(rows, (rows) => ({ rows, isCut: false }))
    return Effect.gen(function* () {
      const { rows, isCut } = yield* limit <= alwaysWhole ? whole : fitting
      return { transactions: yield* readRows(rows), isCut }
    }).pipe(query("TransactionPagesRepo.select"))
  }

  /** Counts to `maxCountedTransactions`. */
  const count = (filter: Filter) =>
    sql`
      SELECT count(*)::float8 AS count FROM (
        SELECT FROM transactions t WHERE ${sql.and(conditionsOf(filter))} LIMIT ${maxCountedTransactions}
      ) counted`.pipe(
      Effect.flatMap(readCount),
      Effect.map(({ count }) => count),
      query("TransactionPagesRepo.count")
    )

  return { select, count }
})
