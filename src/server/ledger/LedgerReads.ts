// What the ledger shows to callers: transactions, lists of them, and numbers about relayers and lanes.
import { Clock, Effect, Option, Schema } from "effect"
import type { Statement } from "effect/sql"
import type { Network } from "../../domain/network/Network.ts"
import type { Relayer } from "../../domain/relayer/Relayer.ts"
import type { LaneKey } from "../../networks/core/Rules.ts"
import type { State } from "../../networks/core/Transaction.ts"
import { maxCountedTransactions, TransactionNotFound } from "../../networks/core/TransactionValues.ts"
import type { Moment, TransactionId } from "../../networks/core/TransactionValues.ts"
import { usualCodes } from "../../networks/core/Transition.ts"
import { client, query } from "../../sql/Transaction.ts"
import * as Rows from "../../sql/Rows.ts"
import { selectFitting } from "../../sql/Rows.ts"
import { feePeriod, makeFeesRepo } from "./AcceptanceChecks.ts"
import type { LimitKey } from "./AcceptanceChecks.ts"
import { makeLaneTotals, makePredecessors } from "./LaneContentsRepo.ts"
import * as LanesRepo from "./LanesRepo.ts"
import { LedgerRules } from "./LedgerEntries.ts"
import type { LaneCounts, LaneId, StoredTransaction } from "./LedgerEntries.ts"
import * as RelayerTransactionsRepo from "./RelayerTransactionsRepo.ts"
import { makeAttempts } from "./SignaturesRepo.ts"
import * as StatisticsRepo from "./StatisticsRepo.ts"
import { makeSums } from "./StatisticsRepo.ts"
import * as TransactionsRepo from "./TransactionsRepo.ts"
import { transactionColumns, transactionReader } from "./TransactionsRepo.ts"

// Which transactions a list contains.

export interface Filter {
  /** Absent: transactions of all relayers. */
  readonly relayerNumbers?: ReadonlyArray<number>
  /** Absent or empty: all states. */
  readonly states?: ReadonlyArray<State>
  /** Only open transactions with one of these codes. Absent: with any code, or none. */
  readonly codes?: ReadonlyArray<string>
  /** Only open transactions whose code is not one of `usualCodes`. */
  readonly isHeld?: true
  /** Hashes, in lower case: those that have one of them, in any attempt. */
  readonly hashes?: ReadonlyArray<string>
  readonly externalId?: string
  /** Accepted at or after this moment. */
  readonly createdAfter?: Moment
  /** Accepted before this moment. */
  readonly createdBefore?: Moment
  /** Absent: `request`. */
  readonly origin?: "request" | "gap" | "channel" | "restore"
}

/** Newest first. */
export interface Selection {
  readonly filter: Filter
  readonly limit: number
  /** Number of the last transaction before the selection. Absent: it begins with the newest, after `offset`. */
  readonly after?: number
  readonly offset?: number
}

export interface SelectedTransactions {
  readonly transactions: ReadonlyArray<StoredTransaction>
  /** Whether further ones of the selection did not fit into 1 MiB. */
  readonly isCut: boolean
}

// Lists of the table `transactions`, newest first.

/** Milliseconds by which the moments of two transactions can differ from the order of their numbers. */
const disorder = 60_000

/** A selection of at most as many is always whole: the usual page of 10, and the one after it. A request may have 256 kB of hex. */
const alwaysWhole = 11

const readCount = Rows.one(Schema.Struct({ count: Schema.Int }))

const makeTransactionPages = Effect.gen(function* () {
  const sql = yield* client
  const readRows = transactionReader(yield* LedgerRules)

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
    const { relayerNumbers, states = [], hashes, externalId, createdAfter, createdBefore, origin = "request" } = filter
    const order = orderOf(filter)
    return [
      sql`t.origin = ${origin}`,
      ...(relayerNumbers === undefined ? [] : [relayersOf(relayerNumbers)]),
      ...(states.length === 0 ? [] : [stateOf(states)]),
      ...waitingOf(filter),
      ...(hashes === undefined
        ? []
        : [sql`t.id IN (SELECT transaction_id FROM attempts WHERE hash = ANY(${hashes}::text[]))`]),
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
      SELECT ${transactionColumns(sql)} FROM (
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

export interface RelayerOnNetwork {
  readonly relayer: Relayer
  readonly network: Network
}

export const make = Effect.gen(function* () {
  const transactions = yield* TransactionsRepo.make
  const pages = yield* makeTransactionPages
  const relayers = yield* RelayerTransactionsRepo.make
  const fees = yield* makeFeesRepo
  const lanes = yield* LanesRepo.make
  const totals = yield* makeLaneTotals
  const predecessors = yield* makePredecessors
  const statistics = yield* StatisticsRepo.make
  const { summedSteps } = yield* makeSums
  const { bytes } = yield* makeAttempts
  const networks = yield* LedgerRules

  const get = Effect.fn("Ledger.get")(function* (relayerNumber: number, id: TransactionId) {
    const [found] = yield* transactions.find([id])
    if (found?.transaction.relayerNumber === relayerNumber) return found
    return yield* new TransactionNotFound({})
  })

  const bySequence = Effect.fn("Ledger.bySequence")(function* (relayerNumber: number, sequence: bigint) {
    const id = yield* relayers.bySequence(relayerNumber, sequence)
    return Option.isSome(id) ? yield* get(relayerNumber, id.value) : yield* new TransactionNotFound({})
  })

  const countOpen = (relayerNumber: number) =>
    Effect.map(relayers.countOpen([relayerNumber]), (counts) => counts.get(relayerNumber) ?? 0)

  const keyOf = (of: RelayerOnNetwork) => {
    const { rules } = networks.of(of.relayer.network_type)
    const target = rules.targetOf(of)
    return target === undefined ? undefined : rules.laneOf(target)
  }

  const countChannelsOf = (of: RelayerOnNetwork) => {
    const key = keyOf(of)
    return key === undefined ? Effect.succeed(0) : relayers.countChannels(key.address, key.chain)
  }

  const laneOn = (of: RelayerOnNetwork) => {
    const key = keyOf(of)
    return key === undefined ? Effect.succeedNone : lanes.find(key)
  }

  const laneCodeOf = (of: RelayerOnNetwork) => Effect.map(laneOn(of), (found) => Option.getOrUndefined(found)?.code)

  const excluding = Effect.fn("Ledger.excluding")(function* (key: LaneKey, exclusive: string) {
    const found = yield* transactions.find(yield* relayers.excluding(key, exclusive))
    return Option.fromUndefinedOr(found[0])
  })

  const feesOfLastDay = Effect.fn("Ledger.feesOfLastDay")(function* (limit: LimitKey) {
    return yield* fees.sum(limit, (yield* Clock.currentTimeMillis) - feePeriod)
  })

  const lane = <A>(key: LaneKey, read: (id: LaneId) => Effect.Effect<A>, none: A) =>
    Effect.flatMap(lanes.find(key), Option.match({ onNone: () => Effect.succeed(none), onSome: ({ id }) => read(id) }))

  const countLane = Effect.fn("Ledger.countLane")((key: LaneKey) =>
    lane<LaneCounts>(key, totals.counts, { pending: 0, inFlight: 0 })
  )

  const reserved = Effect.fn("Ledger.reserved")((key: LaneKey, height?: number) =>
    lane(key, (id) => totals.reserved(id, height), 0n)
  )

  return {
    get,
    bySequence,
    select: pages.select,
    count: pages.count,
    cancelable: relayers.cancelable,
    countOpen,
    countChannels: (address: string) => relayers.countChannels(address),
    countChannelsOf,
    laneCodeOf,
    laneOn,
    countFinalByDay: relayers.countFinalByDay,
    lastConfirmed: relayers.lastConfirmed,
    largestShortage: relayers.largestShortage,
    bytes,
    feesOfLastDay,
    excluding,
    watch: lanes.watch,
    laneOf: lanes.find,
    laneById: lanes.findById,
    countLane,
    channelPlaces: totals.channelPlaces,
    reserved,
    ahead: totals.ahead,
    ...statistics,
    summedSteps,
    ...predecessors
  }
})
