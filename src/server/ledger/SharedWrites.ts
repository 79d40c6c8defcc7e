// What several lanes commit, record and decide at the same moment, in one statement. The part of each lane is written as a whole or not at all, and one that does not
// fit goes alone (ADR 0028).
import { Effect, Exit, Schema } from "effect"
import type { Array as Arr } from "effect"
import { SqlClient } from "effect/sql"
import type { Statement } from "effect/sql"
import * as Batcher from "../../sql/batch/Batcher.ts"
import * as Rows from "../../sql/Rows.ts"
import { unnestRows } from "../../sql/Rows.ts"
import * as Transaction from "../../sql/Transaction.ts"
import { client, isRefused, query } from "../../sql/Transaction.ts"
import type { KnownEventType } from "../../domain/event/Event.ts"
import type { Moment } from "../../networks/core/TransactionValues.ts"
import { Events } from "../events/Events.ts"
import { commitSignalOf } from "../lifecycle/Lifecycle.ts"
import { Outbox } from "../outbox/Outbox.ts"
import * as LanesRepo from "./LanesRepo.ts"
import type { Assignment, ExpectedLane } from "./LanesRepo.ts"
import type { Hold, LaneId, StoredTransaction } from "./LedgerEntries.ts"
import { makeAttempts, storedSize } from "./SignaturesRepo.ts"
import type { SignedAttempt } from "./SignaturesRepo.ts"
import * as Writing from "./TransactionWrites.ts"
import type { Change } from "./TransactionWrites.ts"
import * as TransactionsRepo from "./TransactionsRepo.ts"

/** What one lane writes. */
export interface Part {
  readonly hold: Hold
  /** What the first account of the lane gives away. Undefined: nothing. */
  readonly own: ExpectedLane["own"]
  /** What its channels give away. */
  readonly channels: ReadonlyArray<Assignment>
  /** Of transactions of the lane, each as it was read. */
  readonly changes: Arr.NonEmptyReadonlyArray<Change>
  /** The new attempts of these transactions. */
  readonly signed: ReadonlyArray<SignedAttempt>
  readonly now: Moment
}

/** An event that a part publishes, with its delivery. */
interface PartEvent {
  readonly type: KnownEventType
  readonly id: string
  readonly requestId: string | null
  readonly relayerId: string
  readonly data: string
  /** Of those of one transaction, from 1. */
  readonly rank: number
  /** Absent: its relayer has no notification. */
  readonly delivery?: { readonly id: string; readonly body: string; readonly notification: string }
}

/** A part with what it publishes, which is made in the fiber of its lane: a part whose texts cannot be made fails alone. */
interface PreparedPart extends Part {
  readonly events: ReadonlyArray<PartEvent>
  /** The notifications that its relayers are taken to have, by number. Absent: none. */
  readonly notifications: ReadonlyMap<number, string>
}

/** What one statement writes: transactions, and UTF-16 code units of the texts that it writes of them. */
const maxStatement = { rows: 512, size: 4 * 2 ** 20 }

/** Transactions of a part beyond which it goes alone: it gains little, and the others would wait for it. In a burst, lanes write beside each other. */
const maxShared = 32

/** A statement that waits for a row which a constraint names, longer than this, holds up no later one. */
export const patience = "100 millis"

const sizeOf = ({ signed, events }: PreparedPart): number =>
  signed.reduce((sum, { bytes }) => sum + 2 * storedSize(bytes), 0) +
  events.reduce((sum, { data, delivery }) => sum + data.length + (delivery?.body.length ?? 0), 0)

/** Those of one statement each, in their order. */
const statementsOf = (parts: ReadonlyArray<PreparedPart>) => {
  const statements: Array<Array<PreparedPart>> = []
  let rows = Number.POSITIVE_INFINITY
  let size = 0
  for (const part of parts) {
    rows += part.changes.length
    size += sizeOf(part)
    if (rows > maxStatement.rows || size > maxStatement.size) {
      statements.push([])
      rows = part.changes.length
      size = sizeOf(part)
    }
    statements.at(-1)?.push(part)
  }
  return statements
}

/** A row without a part: the relayer has another notification than was assumed. */
const readWritten = Rows.all(
  Schema.Struct({
    part: Schema.NullOr(Schema.Int),
    relayer: Schema.NullOr(Schema.Int),
    notification: Schema.NullOr(Schema.String)
  })
)

const expectedOf = ({ hold, own, channels, changes }: Part): ExpectedLane => ({
  hold,
  own,
  count: changes.length,
  channels: channels.length
})

/** What a part takes from one channel, for the statement. `part`: its number from 1. */
const counterRow = (part: number, { account, from, count }: Assignment) => ({
  part: String(part),
  account,
  former: String(from),
  next: String(from + count)
})

const makeStatement = Effect.gen(function* () {
  const sql = yield* client
  const lanes = yield* LanesRepo.make
  const transactions = yield* TransactionsRepo.make
  const attempts = yield* makeAttempts
  const { publishing } = yield* Events
  const { putting } = yield* Outbox

  const eventRow = ({ type, id, requestId, relayerId, data, rank, delivery }: PartEvent) => ({
    type,
    resource_id: id,
    request_id: requestId,
    relayer_id: relayerId,
    data,
    rank: String(rank),
    notification: delivery?.notification ?? null,
    delivery: delivery?.id ?? null,
    body: delivery?.body ?? null
  })

  /** Events of the transactions that are written, and their deliveries. RETURNING has no order, so both are paired by their rank among those of a transaction. */
  const publishingOf = (events: ReadonlyArray<PartEvent>): ReadonlyArray<Statement.Fragment> => {
    if (events.length === 0) return []
    // `IS TRUE` keeps PostgreSQL from joining the two tables: without statistics it would compare each row with each other one.
    const parts = [
      sql`happened AS MATERIALIZED (
        SELECT given.* FROM ${unnestRows(sql, events.map(eventRow))} WHERE (given.resource_id::uuid IN (SELECT id FROM written)) IS TRUE
      )`,
      sql`published AS (${publishing(sql`happened`)})`
    ]
    if (events.every(({ delivery }) => delivery === undefined)) return parts
    const put = putting(sql`(
      SELECT happened.n, happened.delivery AS id, happened.notification AS notification_id, ranked.id AS event_id, happened.resource_id AS lane,
        happened.type AS event, happened.body
      FROM happened JOIN (
        SELECT id, resource_id, row_number() OVER (PARTITION BY resource_id ORDER BY id) AS rank FROM published
      ) ranked ON ranked.resource_id = happened.resource_id AND ranked.rank = happened.rank::bigint
      WHERE happened.delivery IS NOT NULL
    ) given`)
    return [...parts, sql`put AS (${put})`]
  }

  /** Locks the counters of channels that are as their parts expect, and moves those of parts that fit. */
  const moving = (parts: ReadonlyArray<PreparedPart>) => {
    const counters = parts.flatMap(({ channels }, index) => channels.map((channel) => counterRow(index + 1, channel)))
    if (counters.length === 0) return undefined
    return {
      locking: sql`counters AS MATERIALIZED (
        SELECT held.part AS of, c.id, given.next::bigint AS next FROM ${unnestRows(sql, counters)} JOIN held ON held.part = given.part::bigint
        JOIN lanes c ON c.parent_id = held.lane AND c.address = given.account AND c.next_nonce = given.former::bigint
        ORDER BY c.id FOR NO KEY UPDATE OF c SKIP LOCKED
      )`,
      fit: sql`held.channels = (SELECT count(*) FROM counters WHERE counters.of = held.part)`,
      writing: sql`carried AS (
        UPDATE lanes c SET next_nonce = counters.next FROM counters JOIN fits ON fits.part = counters.of WHERE c.id = counters.id RETURNING c.id
      )`,
      isWhole: sql`(SELECT count(*) FROM carried) = (SELECT coalesce(sum(channels), 0) FROM fits)`
    }
  }

  /**
   * Writes the parts that fit, and returns their numbers from 1, with the notifications of relayers of which another one was assumed. It waits for no lane, channel or transaction
   * that is locked. What the locking parts return decides whether a part fits, not a second read; all values are parameters. A counter that has moved without its
   * transactions, or the reverse, divides by zero, so that nothing is written.
   */
  return (parts: ReadonlyArray<PreparedPart>) => {
    const changes = parts.flatMap(({ changes, notifications, now }, index) =>
      changes.map((change) => ({ change, notifications, now, part: String(index + 1) }))
    )
    const rows = changes.map(({ change: { before, after }, notifications, now, part }) => ({
      ...transactions.changeOf({ ...before, transaction: after }, now),
      part,
      notification: notifications.get(before.transaction.relayerNumber) ?? null
    }))
    const signed = parts.flatMap((part) => part.signed)
    const answered = changes.flatMap(({ change }) => Writing.answeredIn(change))
    const channels = moving(parts)
    const written = [
      sql`held AS MATERIALIZED (${lanes.holdingAll(parts.map(expectedOf))})`,
      ...(channels === undefined ? [] : [channels.locking]),
      sql`locked AS MATERIALIZED (
        SELECT given.*, held.part AS of, t.relayer_number FROM ${unnestRows(sql, rows)} JOIN held ON held.part = given.part::bigint
        JOIN transactions t ON t.id = given.id::uuid AND t.lane_id = held.lane AND t.version = given.version::bigint
        WHERE (SELECT count(*) FROM held) > 0 AND NOT ${attempts.isGiven(signed)} ORDER BY t.number FOR NO KEY UPDATE OF t SKIP LOCKED
      )`,
      sql`mistaken AS MATERIALIZED (
        SELECT DISTINCT locked.of, locked.relayer_number AS relayer, r.notification_id AS notification
        FROM locked LEFT JOIN relayers r ON r.seq = locked.relayer_number WHERE r.notification_id IS DISTINCT FROM locked.notification
      )`,
      sql`fits AS MATERIALIZED (
        SELECT held.* FROM held WHERE held.count = (SELECT count(*) FROM locked WHERE locked.of = held.part)
          AND NOT EXISTS (SELECT FROM mistaken WHERE mistaken.of = held.part) AND ${channels?.fit ?? sql`held.channels = 0`}
      )`,
      sql`written AS (
        UPDATE transactions t SET ${transactions.values} FROM locked given JOIN fits ON fits.part = given.of
        WHERE t.id = given.id::uuid AND t.version = given.version::bigint RETURNING t.id
      )`,
      sql`moved AS (UPDATE lanes l SET next_nonce = fits.next FROM fits WHERE l.id = fits.lane AND fits.next IS NOT NULL RETURNING l.id)`,
      ...(channels === undefined ? [] : [channels.writing]),
      ...attempts.writing({ signed, answered }, "written"),
      ...publishingOf(parts.flatMap(({ events }) => events))
    ]
    const isWhole = sql`(SELECT count(*) FROM written) = (SELECT coalesce(sum(count), 0) FROM fits)
      AND (SELECT count(*) FROM moved) = (SELECT count(next) FROM fits) AND ${channels?.isWhole ?? sql`true`}`
    return sql`
      WITH ${sql.join(", ", false)(written)}
      SELECT part::float8 AS part, NULL::float8 AS relayer, NULL AS notification FROM fits WHERE 1 / (CASE WHEN ${isWhole} THEN 1 ELSE 0 END) = 1
      UNION ALL SELECT NULL, relayer::float8, notification FROM mistaken`.pipe(
      Effect.flatMap(readWritten),
      query("SharedWrites.write")
    )
  }
})

export const make = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  const lanes = yield* LanesRepo.make
  const attempts = yield* makeAttempts
  const outbox = yield* Outbox
  const encode = yield* Writing.encodingEvents
  const published = yield* commitSignalOf("events")
  const deliveries = yield* commitSignalOf("deliveries")
  const transaction = yield* Transaction.make
  const statement = yield* makeStatement

  /** Notifications that relayers had when a statement assumed another one, by number. */
  const notified = new Map<number, string>()

  /** Lanes whose last write alone was refused by the server: they spoil no statement until one succeeds. */
  const refusedAlone = new Set<LaneId>()

  const prepare = Effect.fnUntraced(function* (part: Part) {
    const relayers = new Set(part.changes.map(({ before }) => before.transaction.relayerNumber))
    // Read once: the statement compares what the deliveries were made for.
    const notifications = new Map([...notified].filter(([relayer]) => relayers.has(relayer)))
    const ranks = new Map<string, number>()
    const encoded = yield* encode(part.changes.flatMap((change) => Writing.reportedBy(change, part.now)))
    const events = yield* Effect.forEach(encoded, ({ relayerNumber, ...event }) => {
      const rank = (ranks.get(event.id) ?? 0) + 1
      ranks.set(event.id, rank)
      const notification = notifications.get(relayerNumber)
      return notification === undefined
        ? Effect.succeed<PartEvent>({ ...event, rank })
        : Effect.map(outbox.deliveryOf(event), (delivery): PartEvent => ({
            ...event,
            rank,
            delivery: { ...delivery, notification }
          }))
    })
    const prepared: PreparedPart = { ...part, events, notifications }
    return prepared
  })

  /** Whether each part was written. */
  const write = Effect.fnUntraced(function* (parts: ReadonlyArray<PreparedPart>) {
    const found = yield* statement(parts)
    const written = new Set(found.flatMap(({ part }) => part ?? []))
    for (const { relayer, notification } of found) {
      if (relayer === null) continue
      if (notification === null) notified.delete(relayer)
      else notified.set(relayer, notification)
    }
    const events = parts.flatMap((part, index) => (written.has(index + 1) ? part.events : []))
    if (events.length > 0) yield* published.afterCommit
    if (events.some(({ delivery }) => delivery !== undefined)) yield* deliveries.afterCommit
    return parts.map((_, index) => written.has(index + 1))
  })

  /**
   * The same for bytes that can repeat. A caller who gets a signature locks the lane and does not change it: a statement that locks the lane itself can have a snapshot from before
   * the signature, so an earlier statement locks the lanes.
   */
  const writeLocked = Effect.fnUntraced(function* (parts: ReadonlyArray<PreparedPart>) {
    const held = yield* lanes.holdAll(parts.map(expectedOf))
    const fitting = parts.filter((_, index) => held.has(index + 1))
    const written = fitting.length === 0 ? [] : yield* write(fitting)
    const found = new Set(fitting.filter((_, index) => written[index]))
    return parts.map((part) => found.has(part))
  }, transaction)

  const canRepeat = ({ signed }: Part) => signed.some(({ chain }) => attempts.canRepeat(chain))

  /** What the server refuses was not written: each part goes alone. After any other failure, it may be written. */
  const writeStatement = (parts: ReadonlyArray<PreparedPart>) =>
    Effect.catchDefect(parts.some(canRepeat) ? writeLocked(parts) : write(parts), (defect) =>
      isRefused(defect)
        ? Effect.as(
            Effect.logWarning("lanes write one by one because their statement was refused"),
            parts.map(() => false)
          )
        : Effect.die(defect)
    )

  /** An earlier statement is answered whatever becomes of a later one. */
  const writeAll = (parts: ReadonlyArray<PreparedPart>) =>
    Effect.map(
      Effect.forEach(statementsOf(parts), (some) =>
        Effect.map(Effect.exit(writeStatement(some)), (exit) =>
          some.map((_, index) => Exit.map(exit, (written) => written[index] === true))
        )
      ),
      (answers) => answers.flat()
    )

  const shared = yield* Batcher.make<PreparedPart, Exit.Exit<boolean>>(sql, {
    // Most writes need no transaction around them.
    group: (part) => String(canRepeat(part)),
    patience,
    all: writeAll
  })

  const alone = <E>({ laneId }: Hold, write: Effect.Effect<ReadonlyArray<StoredTransaction>, E>) =>
    write.pipe(
      Effect.tap(() => Effect.sync(() => refusedAlone.delete(laneId))),
      Effect.catchDefect((defect) => {
        if (isRefused(defect)) refusedAlone.add(laneId)
        return Effect.die(defect)
      })
    )

  /**
   * Writes the part of a lane together with those of other lanes, or has `otherwise` write it alone. If the outcome of the statement is not known, it dies and is not tried
   * alone: the lane reads itself anew.
   */
  const writeOr = Effect.fnUntraced(function* <E>(
    part: Part,
    otherwise: Effect.Effect<ReadonlyArray<StoredTransaction>, E>
  ) {
    if (part.changes.length > maxShared || refusedAlone.has(part.hold.laneId)) return yield* alone(part.hold, otherwise)
    const isWritten = yield* Effect.flatten(shared(yield* prepare(part)))
    if (!isWritten) return yield* alone(part.hold, otherwise)
    return part.changes.map((change) => Writing.storedAfter(change, part.now))
  })

  return { writeOr }
})

export type SharedWrites = Effect.Success<typeof make>
