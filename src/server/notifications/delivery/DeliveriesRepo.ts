// The tables `deliveries` and `delivery_attempts` for callers. `OutboxRepo` inserts deliveries, `QueueRepo` claims them.
import { DateTime, Effect, Schema } from "effect"
import { NotificationNotFound } from "../../../domain/notification/Notification.ts"
import type { NotificationId } from "../../../domain/notification/Notification.ts"
import { Delivery } from "../../../domain/notification/Delivery.ts"
import type {
  DeliveryFilter,
  DeliveryId,
  ReplayDeliveries,
  TestDelivery
} from "../../../domain/notification/Delivery.ts"
import type { Series } from "../../../domain/request/Page.ts"
import { Instant } from "../../../domain/request/Text.ts"
import { client, query } from "../../../sql/Query.ts"
import * as Rows from "../../../sql/Rows.ts"
import { selectFitting } from "../../../sql/Rows.ts"

/** The deliveries of a notification that exist for a caller. */
export interface Deliveries {
  readonly notification: NotificationId
  /** For the caller, only these relayers exist. `undefined`: all. */
  readonly relayers: ReadonlyArray<string> | undefined
}

export interface Selection extends Deliveries {
  readonly filter: DeliveryFilter
  /** Whether the deliveries have their body. */
  readonly withBody: boolean
  readonly limit: number
  /** From the cursor: the `seq` of the last delivery of the previous page. */
  readonly after: number | undefined
}

export interface PlacedDelivery {
  readonly delivery: Delivery
  readonly seq: number
}

/** The lane of test webhooks, which belong to no relayer. The lane of others is their relayer or transaction. */
const testLane = ""

const columns = { attempts: (column: unknown): unknown => JSON.parse(String(column)), event_id: Number }
const readDelivery = Rows.first(Rows.withoutNulls(Delivery, columns))
const Placed = Schema.Struct({ ...Delivery.fields, seq: Rows.Integer })
const readPlaced = Rows.allPaced(Rows.withoutNulls(Placed, columns))

const readSteps = Rows.all(
  Rows.withoutNulls(
    Schema.Struct({
      at: Schema.Int,
      delivered: Schema.Int,
      failed: Schema.Int,
      pending: Schema.Int,
      p95_ms: Schema.optionalKey(Schema.Int)
    })
  )
)

const readWaiting = Rows.one(
  Rows.withoutNulls(
    Schema.Struct({
      pending: Schema.Int,
      oldest_pending_at: Schema.optionalKey(Instant),
      gives_up_at: Schema.optionalKey(Instant)
    })
  )
)

const readFailing = Rows.one(Rows.withoutNulls(Schema.Struct({ failing_since: Schema.optionalKey(Instant) })))

export const make = Effect.gen(function* () {
  const sql = yield* client

  const attempts = sql`(
    SELECT coalesce(json_agg(json_strip_nulls(json_build_object('at', a.at, 'ms', a.milliseconds,
      'outcome', a.outcome, 'status', a.status, 'answer', a.answer)) ORDER BY a.attempt DESC), '[]')
    FROM (SELECT * FROM delivery_attempts WHERE delivery_id = t.id ORDER BY attempt DESC LIMIT 50) a
  )::text AS attempts`
  const at = (column: string) => sql`to_json(t.${sql(column)}) #>> '{}' AS ${sql(column)}`
  /** Null of a test. */
  const relayer = sql`(SELECT coalesce(e.relayer_id, e.resource_id) FROM events e WHERE e.id = t.event_id)`
  const withoutBody = sql`t.id, t.event AS type, t.event_id, ${relayer} AS relayer_id, t.state,
    ${at("created_at")}, ${at("delivered_at")}, ${attempts},
    CASE WHEN t.state = 'pending' THEN to_json(t.next_attempt_at) #>> '{}' END AS next_attempt_at`
  const columns = sql`${withoutBody}, t.body`

  /** Deliveries about these relayers, but not about earlier ones with the same ids: their events are older than the creation. */
  const ofRelayers = (relayers: ReadonlyArray<string>) => sql`
    AND t.event_id >= ((
      SELECT json_object_agg(r.id, coalesce((
        SELECT max(e.id) FROM events e WHERE e.resource_id = r.id AND e.type = 'relayer.created'), 0))
      FROM relayers r WHERE r.id = ANY(${relayers}::text[])) ->> ${relayer})::bigint`

  const ofCaller = ({ notification, relayers }: Deliveries) =>
    sql`t.notification_seq = (SELECT seq FROM notifications WHERE id = ${notification}) ${relayers === undefined ? sql`` : ofRelayers(relayers)}`

  const matching = ({ state, type, relayer_id, event_id }: DeliveryFilter) =>
    sql.and([
      sql`true`,
      ...(state === undefined ? [] : [sql`t.state = ${state}`]),
      ...(type === undefined ? [] : [sql`t.event = ${type}`]),
      ...(relayer_id === undefined ? [] : [sql`${relayer} = ${relayer_id}`]),
      ...(event_id === undefined ? [] : [sql`t.event_id = ${String(event_id)}::bigint`])
    ])

  /** The latest delivery first, of limited size: `isFull` if there may be further deliveries. */
  const select = ({ filter, withBody, limit, after, ...selected }: Selection) => {
    const rows = sql`
      SELECT t.seq, ${withBody ? columns : withoutBody} FROM deliveries t
      WHERE ${ofCaller(selected)} AND ${matching(filter)} ${after === undefined ? sql`` : sql`AND t.seq < ${after}`}
      ORDER BY t.seq DESC LIMIT ${limit + 1}`
    return Effect.gen(function* () {
      const size = withBody ? sql`octet_length(body) + octet_length(attempts)` : sql`octet_length(attempts)`
      const found = yield* selectFitting(sql, { rows, size, orderBy: sql`seq DESC` })
      const placed = (yield* readPlaced(found.rows)).slice(0, limit)
      const deliveries = placed.map(({ seq, ...delivery }): PlacedDelivery => ({ delivery, seq }))
      return { deliveries, isFull: found.isCut || found.rows.length > limit }
    }).pipe(query("DeliveriesRepo.select"))
  }

  /** None if it does not exist for the caller. */
  const find = (deliveries: Deliveries, id: DeliveryId) =>
    sql`SELECT ${columns} FROM deliveries t WHERE t.id = ${id} AND ${ofCaller(deliveries)}`.pipe(
      Effect.flatMap(readDelivery),
      query("DeliveriesRepo.find")
    )

  /** Makes a delivery due now, unless it is claimed. None if it does not exist for the caller. */
  const retry = (deliveries: Deliveries, id: DeliveryId) =>
    sql`
      UPDATE deliveries t SET state = 'pending', failures = 0, once = once OR state <> 'pending',
        next_attempt_at = CASE WHEN claim IS NULL THEN clock_timestamp() ELSE next_attempt_at END,
        give_up_at = CASE WHEN state = 'pending' THEN give_up_at ELSE clock_timestamp() + interval '24 hours' END
      WHERE id = ${id} AND ${ofCaller(deliveries)} RETURNING ${columns}`.pipe(
      Effect.flatMap(readDelivery),
      query("DeliveriesRepo.retry")
    )

  /** Makes at most `limit` deliveries due, the oldest first, as if they were new. Returns how many. */
  const replayed = (deliveries: Deliveries, { since, until, state }: ReplayDeliveries, limit: number) => sql`
    SELECT t.seq FROM deliveries t
    WHERE ${ofCaller(deliveries)} AND t.lane <> ${testLane}
      AND ${state === undefined ? sql`state <> 'pending'` : sql`state = ${state}`}
      AND created_at >= ${DateTime.toDate(since)} AND created_at < ${DateTime.toDate(until)}
    ORDER BY t.seq LIMIT ${limit}`

  const replay = (...range: Parameters<typeof replayed>) =>
    sql`
      UPDATE deliveries SET state = 'pending', failures = 0, once = false, next_attempt_at = clock_timestamp(),
        give_up_at = clock_timestamp() + interval '24 hours'
      WHERE seq = ANY(ARRAY(${replayed(...range)} FOR UPDATE OF t)) RETURNING 1`.pipe(
      Effect.map((rows) => rows.length),
      query("DeliveriesRepo.replay")
    )

  /** How many deliveries a replay would send. */
  const countReplayed = (...range: Parameters<typeof replayed>) =>
    replayed(...range).pipe(
      Effect.map((rows) => rows.length),
      query("DeliveriesRepo.countReplayed")
    )

  /** Inserts a test webhook that was sent. */
  const insertTest = (notification: NotificationId, body: string, test: TestDelivery) =>
    sql`
      WITH delivery AS (
        INSERT INTO deliveries (id, notification_seq, lane, event, body, state, attempts, delivered_at)
        SELECT ${test.id}, seq, ${testLane}, 'test', ${body},
          ${test.outcome === "delivered" ? "delivered" : "failed"}, 1,
          ${test.outcome === "delivered" ? DateTime.toDate(test.at) : null}::timestamptz
        FROM notifications WHERE id = ${notification}
        RETURNING id
      )
      INSERT INTO delivery_attempts (delivery_id, attempt, at, milliseconds, status, outcome, answer)
      SELECT id, 1, ${DateTime.toDate(test.at)}, ${test.ms}, ${test.status ?? null}::smallint, ${test.outcome},
        ${test.answer ?? null}::text
      FROM delivery RETURNING 1`.pipe(
      Effect.filterOrFail(
        (rows) => rows.length === 1,
        () => new NotificationNotFound({})
      ),
      Effect.asVoid,
      query("DeliveriesRepo.insertTest")
    )

  /** The newest deliveries since a moment, by steps of their creation. Tests are left out. */
  const steps = (deliveries: Deliveries, { since, step }: Series, limit: number) =>
    sql`
      SELECT (floor(extract(epoch FROM d.created_at) * 1000 / ${step}::float8) * ${step}::float8)::float8 AS at,
        (count(*) FILTER (WHERE d.state = 'delivered'))::float8 AS delivered,
        (count(*) FILTER (WHERE d.state = 'failed'))::float8 AS failed,
        (count(*) FILTER (WHERE d.state = 'pending'))::float8 AS pending,
        round(percentile_disc(0.95) WITHIN GROUP (ORDER BY d.ms) FILTER (WHERE d.state = 'delivered'))::float8 AS p95_ms
      FROM (
        SELECT t.created_at, t.state, greatest(0, extract(epoch FROM t.delivered_at - t.created_at) * 1000) AS ms
        FROM deliveries t
        WHERE ${ofCaller(deliveries)} AND t.lane <> ${testLane} AND t.created_at >= to_timestamp(${since}::float8 / 1000)
        ORDER BY t.seq DESC LIMIT ${limit}
      ) d GROUP BY 1`.pipe(Effect.flatMap(readSteps), query("DeliveriesRepo.steps"))

  /** The deliveries that wait now, counted up to `limit`. */
  const waiting = (deliveries: Deliveries, limit: number) =>
    sql`
      SELECT count(*)::float8 AS pending, to_json(min(p.created_at)) #>> '{}' AS oldest_pending_at,
        to_json(min(p.give_up_at)) #>> '{}' AS gives_up_at
      FROM (
        SELECT t.created_at, t.give_up_at FROM deliveries t
        WHERE ${ofCaller(deliveries)} AND t.state = 'pending' LIMIT ${limit}
      ) p`.pipe(Effect.flatMap(readWaiting), query("DeliveriesRepo.waiting"))

  const failingSince = (notification: NotificationId) =>
    sql`
      SELECT to_json(t.failing_since) #>> '{}' AS failing_since FROM notifications t WHERE t.id = ${notification}`.pipe(
      Effect.flatMap(readFailing),
      query("DeliveriesRepo.failingSince")
    )

  return { select, find, retry, replay, countReplayed, insertTest, steps, waiting, failingSince }
})
