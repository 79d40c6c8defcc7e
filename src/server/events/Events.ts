// Publishes events in the transaction of the change that they report, so that neither exists alone.
// Measures how long readers wait for them.
import { Context, Duration, Effect, Layer, Metric, Option, Schema } from "effect"
import { SqlClient } from "effect/sql"
import type { Statement } from "effect/sql"
import { Event } from "../../domain/event/Event.ts"
import type { EventFilter, KnownEventType, NewEvent } from "../../domain/event/Event.ts"
import { parse } from "../../domain/request/ExactJson.ts"
import * as Rows from "../../sql/Rows.ts"
import { selectFitting, selectFittingBeside, unnestRows } from "../../sql/Rows.ts"
import { notify } from "../../sql/Session.ts"
import { client, query } from "../../sql/Transaction.ts"
import { commitSignalOf, Conditions, Jobs, nextMoment } from "../lifecycle/Lifecycle.ts"
import { measureGauge } from "../lifecycle/SharedJobs.ts"
import { currentRequestId } from "../responses/CurrentRequest.ts"

// The table `events`. Events are visible once every older transaction has ended: in the order of `xid` and `id`, no event can
// then appear before a visible one (ADR 0007), and events of one resource have the order of its versions (ADR 0025).

// Positions in the order of events: by transaction id, then by event id.

export interface Position {
  readonly xid: bigint
  readonly id: number
}

/** Before the first event. */
export const firstPosition: Position = { xid: 0n, id: 0 }

export const isAfter = (one: Position, other: Position): boolean =>
  one.xid === other.xid ? one.id > other.id : one.xid > other.xid

export const latestPosition = (one: Position, other: Position): Position => (isAfter(other, one) ? other : one)

export type NewRow = {
  readonly type: string
  readonly resource_id: string
  readonly request_id: string | null
  /** The relayer of the transaction that the event is about. Null: the event is not about a transaction. */
  readonly relayer_id: string | null
  /** JSON text. */
  readonly data: string
}

/** The id of the event of each relayer's creation. An earlier relayer with the same id has only earlier events. */
export type Births = ReadonlyMap<string, number>

export interface Filter extends EventFilter {
  /** Only events about these relayers and their transactions, each from its creation on. Absent: every event. */
  readonly relayers?: Births
}

export interface Selection extends Filter {
  readonly after: Position
  readonly limit: number
}

/** Events before a position, or the newest ones: the newest first. */
export interface PastSelection extends Filter {
  readonly before: Position | undefined
  readonly limit: number
}

export interface PlacedEvent {
  readonly position: Position
  readonly event: Event
  /** The relayer of the transaction that the event is about. */
  readonly relayerId?: string
  /** Size of `event.data` as JSON. */
  readonly bytes: number
}

/** The next events of all kinds. */
export interface NewEvents extends EventPage {
  /** Whether other events wait for older transactions. */
  readonly isHeldBack: boolean
}

export interface EventPage {
  readonly events: ReadonlyArray<PlacedEvent>
  /** Whether there may be further events: the page has as many as asked for, or as many as fit into it. */
  readonly isFull: boolean
}

const Place = Schema.Struct({ xid: Schema.BigIntFromString, id: Rows.Integer })
const readPosition = Rows.first(Place)

const Placed = Rows.withoutNulls(
  Schema.Struct({
    ...Event.fields,
    xid: Schema.BigIntFromString,
    relayer_id: Schema.optionalKey(Schema.String),
    bytes: Schema.Int
  }),
  {
    id: Number,
    data: (text) => parse(String(text))
  }
)
const readPlaced = Rows.allPaced(Placed)

const placed = ({ xid, bytes, relayer_id, ...event }: (typeof Placed)["Type"]): PlacedEvent => ({
  position: { xid, id: event.id },
  event,
  ...(relayer_id === undefined ? {} : { relayerId: relayer_id }),
  bytes
})

/** The events, and a row without an id that has what was read with them. */
const readAppended = Rows.all(Schema.Struct({ id: Schema.NullOr(Rows.Integer), read: Schema.NullOr(Schema.String) }))
const readBirths = Rows.all(Schema.Struct({ id: Schema.String, born: Rows.Integer }))

export const make = Effect.gen(function* () {
  const sql = yield* client
  const shown = sql`xid < pg_snapshot_xmin(pg_current_snapshot())`
  const columns = sql`id, xid::text AS xid, type, resource_id, to_json(at) #>> '{}' AS at, request_id, relayer_id, data::text AS data,
    bytes`

  /**
   * A transaction gets its id with its first lock, and can wait afterwards for a row that a transaction with a later id changes. So an event
   * is placed behind all transactions that had ended when it was appended, and stays invisible until its own transaction has ended: its id is
   * not above the place (ADR 0025).
   */
  const place = sql`(
    SELECT greatest(pg_current_xact_id(), (pg_snapshot_xmax(pg_current_snapshot())::text::bigint - 1)::text::xid8))`

  /** Appends the events that a query names, in the order of its column `n`. */
  const appendFrom = (events: Statement.Fragment) => sql`
    INSERT INTO events (xid, type, resource_id, request_id, relayer_id, data)
    SELECT ${place}, type, resource_id, request_id, relayer_id, data::json FROM ${events} ORDER BY n
    RETURNING id, resource_id`

  /**
   * Appends the events in their order. Returns their ids in the same order: they are generated in the order of the rows, but
   * RETURNING does not promise an order. `reading`: an expression whose text is read in the same statement.
   */
  const append = (events: ReadonlyArray<NewRow>, reading: Statement.Fragment = sql`NULL`) =>
    sql`
      WITH appended AS (${appendFrom(unnestRows(sql, events))})
      SELECT id, NULL AS read FROM appended UNION ALL SELECT NULL, ${reading}`.pipe(
      Effect.flatMap(readAppended),
      Effect.map((rows) => ({
        ids: rows.flatMap(({ id }) => id ?? []).sort((one, other) => one - other),
        read: rows.find(({ id }) => id === null)?.read ?? undefined
      })),
      query("Events.append")
    )

  /** The position of the event; none if it is not visible yet. */
  const find = (id: number) =>
    sql`SELECT xid::text AS xid, id FROM events WHERE id = ${id} AND ${shown}`.pipe(
      Effect.flatMap(readPosition),
      query("Events.find")
    )

  /** The position of the last visible event. */
  const last = sql`
    SELECT xid::text AS xid, id FROM events WHERE ${shown} ORDER BY events.xid DESC, events.id DESC LIMIT 1`.pipe(
    Effect.flatMap(readPosition),
    query("Events.last")
  )

  /**
   * A relayer that does not exist yet has only events after the deletion of the earlier one. 0: the event was deleted because of its
   * age, and with it all events of an earlier relayer.
   */
  const births = (relayerIds: ReadonlyArray<string>) =>
    sql`
      SELECT given.id, coalesce((
        SELECT max(e.id) FROM events e WHERE e.resource_id = given.id
          AND e.type = CASE WHEN r.id IS NULL THEN 'relayer.deleted' ELSE 'relayer.created' END), 0) AS born
      FROM unnest(${relayerIds}::text[]) AS given (id) LEFT JOIN relayers r ON r.id = given.id`.pipe(
      Effect.flatMap(readBirths),
      Effect.map((rows): Births => new Map(rows.map(({ id, born }) => [id, born]))),
      query("Events.births")
    )

  const at = ({ xid, id }: Position) => sql`(${String(xid)}::text::xid8, ${id}::bigint)`

  interface Section {
    readonly range: Statement.Fragment
    readonly limit: number
    readonly direction: Statement.Fragment
  }

  /** Events in one direction, of limited size. */
  const selected = ({ type, resource_id, relayers }: Filter, { range, limit, direction }: Section) => {
    const conditions = [
      shown,
      range,
      ...(type === undefined ? [] : [sql`type = ANY(${type}::text[])`]),
      ...(resource_id === undefined ? [] : [sql`resource_id = ${resource_id}`])
    ]
    const order = sql`ORDER BY events.xid ${direction}, events.id ${direction} LIMIT ${limit}`
    const of = (more: ReadonlyArray<Statement.Fragment>) =>
      sql`SELECT * FROM events WHERE ${sql.and([...conditions, ...more])} ${order}`
    // Two parts, so that each one uses its index.
    const ofLife = (column: "resource_id" | "relayer_id", born: Births) =>
      sql.or(
        [...born].map(([id, from]) => sql`(${sql(column)} = ${id} AND events.id >= ${String(from)}::text::bigint)`)
      )
    const chosen = (born: Births) =>
      born.size === 0
        ? sql`SELECT * FROM events WHERE false`
        : sql`
      (${of([sql`type LIKE 'relayer.%'`, ofLife("resource_id", born)])}) UNION ALL (${of([ofLife("relayer_id", born)])})`
    const rows = sql`
      SELECT events.*, octet_length(data::text) AS bytes FROM (${relayers === undefined ? of([]) : chosen(relayers)}) events ${order}`
    return { rows, columns, size: sql`bytes`, orderBy: sql`xid::xid8 ${direction}, id ${direction}` }
  }

  const pageOf = (found: { readonly rows: ReadonlyArray<unknown>; readonly isCut: boolean }, limit: number) =>
    Effect.map(readPlaced(found.rows), (rows) => ({
      events: rows.map(placed),
      isFull: found.isCut || rows.length === limit
    }))

  const read = (filter: Filter, section: Section) =>
    Effect.flatMap(selectFitting(sql, selected(filter, section)), (found) => pageOf(found, section.limit))

  /** In order, of limited size. */
  const page = ({ after, limit, ...filter }: Selection) =>
    read(filter, { range: sql`(xid, id) > ${at(after)}`, limit, direction: sql`ASC` }).pipe(query("Events.page"))

  /** The newest first, of limited size. */
  const past = ({ before, limit, ...filter }: PastSelection) =>
    read(filter, {
      range: before === undefined ? sql`true` : sql`(xid, id) < ${at(before)}`,
      limit,
      direction: sql`DESC`
    }).pipe(query("Events.past"))

  const isHeldBack = sql`EXISTS (SELECT FROM events WHERE xid >= pg_snapshot_xmin(pg_current_snapshot()))`

  /**
   * The events after a position, in order, of limited size, and whether others wait for older transactions. Both are of one moment: an event is among
   * the events, or is held back, or has not been committed.
   */
  const tail = (after: Position, limit: number) =>
    Effect.gen(function* () {
      const section = { range: sql`(xid, id) > ${at(after)}`, limit, direction: sql`ASC` }
      const { beside, ...found } = yield* selectFittingBeside(sql, selected({}, section), isHeldBack)
      const page: NewEvents = { ...(yield* pageOf(found, limit)), isHeldBack: beside === true }
      return page
    }).pipe(query("Events.tail"))

  /**
   * Makes events visible that were restored from another server: their transaction ids lie in the future of this server.
   * They become the oldest: 3 is the first id of an ordinary transaction.
   */
  const adopt = sql`
    WITH foreign_ids AS (
      SELECT FROM events WHERE xid >= pg_snapshot_xmax(pg_current_snapshot())
      UNION ALL SELECT FROM events_pruned WHERE xid >= pg_snapshot_xmax(pg_current_snapshot())
    ), pruned AS (
      UPDATE events_pruned SET xid = '2' WHERE EXISTS (SELECT FROM foreign_ids)
    )
    UPDATE events SET xid = '3' WHERE EXISTS (SELECT FROM foreign_ids)`.pipe(Effect.asVoid, query("Events.adopt"))

  return { append, appendFrom, find, last, births, page, past, tail, adopt }
})

// Deletes old events from the table `events`, the oldest first, and remembers the position of the last deleted one.

const readDeletedPosition = Rows.first(Schema.Struct({ xid: Schema.BigIntFromString, id: Rows.Integer }))
const readDeletedCount = Rows.one(Schema.Struct({ count: Rows.Integer }))

export const makeEventRetentionRepo = Effect.gen(function* () {
  const sql = yield* client

  /**
   * Deletes at most `limit` events that are older than `age`. Returns how many. `at` is not quite in the order of positions:
   * only events before the first one that is young enough are deleted, so that the events that remain have no gap.
   */
  const prune = (age: Duration.Duration, limit: number) =>
    sql`
      WITH first AS (
        SELECT xid, id, bool_and(at < now() - ${Duration.toSeconds(age)}::float8 * interval '1 second')
          OVER (ORDER BY xid, id) AS is_old
        FROM (
          SELECT xid, id, at FROM events WHERE xid < pg_snapshot_xmin(pg_current_snapshot())
          ORDER BY xid, id LIMIT ${limit}
        ) oldest
      ), deleted AS (
        DELETE FROM events WHERE id IN (SELECT id FROM first WHERE is_old) RETURNING xid, id
      ), marked AS (
        INSERT INTO events_pruned (xid, id) SELECT xid, id FROM deleted ORDER BY xid DESC, id DESC LIMIT 1
        ON CONFLICT (singleton) DO UPDATE SET xid = excluded.xid, id = excluded.id
        WHERE (events_pruned.xid, events_pruned.id) < (excluded.xid, excluded.id)
      )
      SELECT count(*) AS count FROM deleted`.pipe(
      Effect.flatMap(readDeletedCount),
      Effect.map(({ count }) => count),
      query("Events.prune")
    )

  /** The position of the last event that was deleted; none if all events are still there. */
  const pruned = sql`SELECT xid::text AS xid, id FROM events_pruned`.pipe(
    Effect.flatMap(readDeletedPosition),
    query("Events.pruned")
  )

  return { prune, pruned }
})

/** The PostgreSQL channel on which instances notify each other that there are new events. */
export const channel = "effect_relayer_events"

/** Milliseconds between two notifications at least, apart from the first after a pause. They fall on moments of the pulse of lanes. */
const notifyEvery = 100

/** An event whose resource is JSON text. */
export interface EncodedEvent {
  readonly type: KnownEventType
  readonly id: string
  /** JSON text. */
  readonly data: string
  /** Null outside of requests. */
  readonly requestId: string | null
  /** The relayer of the transaction that the event is about. Absent: the event is about another resource. */
  readonly relayerId?: string
}

const encode = <S extends Schema.ConstraintEncoder<unknown>>(
  { type, id, schema, data }: NewEvent<S>,
  requestId: string | null
): EncodedEvent => ({ type, id, data: JSON.stringify(Schema.encodeSync(schema)(data)), requestId })

const makeEvents = Effect.gen(function* () {
  const repo = yield* make
  const sql = yield* SqlClient.SqlClient
  const jobs = yield* Jobs
  const written = yield* commitSignalOf("events")

  const adopting = yield* jobs.supervise({ job: "events", task: "adopt" })
  yield* Effect.forkScoped(Effect.andThen(adopting(repo.adopt), written.now))

  yield* jobs.run({
    job: "events",
    task: "notify",
    work: notify(sql, channel),
    wait: () => Effect.andThen(nextMoment(notifyEvery), written.wait())
  })

  /** Part of the running transaction: the ids of a batch, and the text of an SQL expression, which the same statement reads. Undefined: it is null. */
  const emitReading = Effect.fn("Events.emit")(function* (
    events: ReadonlyArray<EncodedEvent>,
    expression?: Statement.Fragment
  ) {
    const rows = events.map(({ type, id, data, requestId, relayerId = null }) => ({
      type,
      resource_id: id,
      request_id: requestId,
      relayer_id: relayerId,
      data
    }))
    const appended = yield* repo.append(rows, expression)
    yield* written.afterCommit
    return appended
  })

  /** Returns the ids in the order of the events. */
  const emitMany = (events: ReadonlyArray<EncodedEvent>) => Effect.map(emitReading(events), ({ ids }) => ids)

  /** The same for one event. Returns its id. */
  const emit = Effect.fnUntraced(function* <S extends Schema.ConstraintEncoder<unknown>>(event: NewEvent<S>) {
    const [id] = yield* emitMany([encode(event, (yield* currentRequestId) ?? null)])
    return Number(id)
  })

  /**
   * A part of an SQL statement that writes changes of rows which no other transaction sees yet (ADR 0025): it appends the events that the query `given` names,
   * with the columns of an event and `n`, their order, and returns `id` and `resource_id`. After the commit, the caller raises the signal of the job `events`.
   */
  const publishing = repo.appendFrom

  return { emit, emitMany, emitReading, publishing }
})

export class Events extends Context.Service<Events, Effect.Success<typeof makeEvents>>()(
  "effect-relayer/server/events/Events"
) {
  static readonly layer = Layer.effect(Events, makeEvents)
}

// Events that no reader sees yet, because an older transaction on the database server is still running (ADR 0007).

const EventDelay = Schema.Struct({
  count: Rows.Integer,
  /** The age of the oldest of them, in seconds; 0 if there are none. */
  seconds: Schema.Finite
})
type EventDelay = typeof EventDelay.Type

/** The oldest transaction of the server. The database hides some fields of sessions of other users. */
const DelayHolder = Schema.Struct({
  /** Absent: it is a prepared transaction. */
  pid: Schema.optionalKey(Schema.Int),
  /** The name of a prepared transaction. */
  prepared: Schema.optionalKey(Schema.String),
  database: Schema.optionalKey(Schema.String),
  user: Schema.optionalKey(Schema.String),
  application: Schema.optionalKey(Schema.String),
  state: Schema.optionalKey(Schema.String)
})
type DelayHolder = typeof DelayHolder.Type

const readDelay = Rows.one(EventDelay)
const readHolder = Rows.first(Rows.withoutNulls(DelayHolder))

const makeEventDelayRepo = Effect.gen(function* () {
  const sql = yield* client
  const oldest = sql`pg_snapshot_xmin(pg_current_snapshot())`

  const measure = sql`
    SELECT count(*) AS count, coalesce(extract(epoch FROM clock_timestamp() - min(at)), 0)::float8 AS seconds
    FROM events WHERE xid >= ${oldest}`.pipe(Effect.flatMap(readDelay), query("Events.measure"))

  /** The transaction that events wait for; none if it has just ended. */
  const holder = sql`
    SELECT pid, NULL AS prepared, datname::text AS database, usename::text AS user, application_name AS application, state
    FROM pg_stat_activity WHERE backend_xid = ${oldest}::xid
    UNION ALL
    SELECT NULL, gid, database::text, owner::text, NULL, NULL FROM pg_prepared_xacts WHERE transaction = ${oldest}::xid
    LIMIT 1`.pipe(Effect.flatMap(readHolder), query("Events.holder"))

  return { measure, holder }
})

// Measures how long events wait for older transactions, and reports a transaction that holds them back for long.

export const eventsHeldBack = Metric.gauge("events_held_back", {
  description: "Events that no reader sees yet, because an older transaction on the database server is still open."
})

export const eventsHeldBackSeconds = Metric.gauge("events_held_back_seconds", {
  description: "Age of the oldest event that no reader sees yet, in seconds; 0 if readers see all."
})

/** Seconds. Longer than the transactions of requests. */
const heldBackPatience = 30

const heldBackReason =
  "events wait for a transaction that has been open on the database server for more than 30 seconds"

/** Runs until its scope closes. */
export const layerEventDelay = Layer.effectDiscard(
  Effect.gen(function* () {
    const repo = yield* makeEventDelayRepo
    const conditions = yield* Conditions

    const problem = Effect.map(repo.holder, (holder) => ({
      reason: heldBackReason,
      details: Option.getOrElse(holder, () => ({}))
    }))

    const measure = Effect.gen(function* () {
      const { count, seconds } = yield* repo.measure
      yield* Metric.update(eventsHeldBack, count)
      yield* Metric.update(eventsHeldBackSeconds, seconds)
      yield* conditions.report("events", seconds > heldBackPatience ? yield* problem : undefined)
    })

    yield* measureGauge(eventsHeldBackSeconds.id, measure)
  })
)
