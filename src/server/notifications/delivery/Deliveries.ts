// Deliveries of a notification, for callers: list, retry, replay, test.
import { Clock, Context, DateTime, Effect, Layer, Option, Schema } from "effect"
import { SecureRandom } from "effect/crypto"
import type { Statement } from "effect/sql"
import * as Caller from "../../../domain/access/Caller.ts"
import {
  Delivery,
  DeliveryId,
  DeliveryNotFound,
  DeliveryOutcome,
  longestSeries,
  maxCountedDeliveries,
  maxReplayed,
  ReplayDeliveries,
  ReplayedDeliveries
} from "../../../domain/notification/Delivery.ts"
import type {
  DeliveryFilter,
  DeliveryQuery,
  DeliveryStatistics,
  TestDelivery
} from "../../../domain/notification/Delivery.ts"
import { NotificationNotFound } from "../../../domain/notification/Notification.ts"
import type { NotificationId } from "../../../domain/notification/Notification.ts"
import * as Webhook from "../../../domain/notification/Webhook.ts"
import { filled, seriesOf } from "../../../domain/request/Page.ts"
import type { Items, Series, SeriesQuery } from "../../../domain/request/Page.ts"
import { BadRequest } from "../../../domain/request/Request.ts"
import * as Rows from "../../../sql/Rows.ts"
import { selectFitting } from "../../../sql/Rows.ts"
import { Audit } from "../../audit/Audit.ts"
import { Cursors } from "../../cursors/Cursors.ts"
import { commitSignalOf } from "../../lifecycle/Lifecycle.ts"
import { Instant } from "../../../domain/request/Shown.ts"
import * as Transaction from "../../../sql/Transaction.ts"
import { client, query } from "../../../sql/Transaction.ts"
import { OutboundWork } from "../../limits/RateLimits.ts"
import { Notifications } from "../Notifications.ts"
import * as WebhookClient from "./WebhookClient.ts"
import { makeReceiversRepo } from "./WebhookClient.ts"

// The tables `deliveries` and `delivery_attempts` for callers. `OutboxRepo` inserts deliveries, `QueueRepo` claims them.

/** The deliveries of a notification that exist for a caller. */
export interface VisibleDeliveries {
  readonly notification: NotificationId
  /** For the caller, only these relayers exist. `undefined`: all. */
  readonly relayers: ReadonlyArray<string> | undefined
}

export interface DeliverySelection extends VisibleDeliveries {
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
      /** Deliveries that were created in the step; in the first one, also those that waited when it began. */
      begun: Schema.Int,
      delivered: Schema.Int,
      failed: Schema.Int,
      p95_ms: Schema.optionalKey(Schema.Int)
    })
  )
)
type StepRow = Effect.Success<ReturnType<typeof readSteps>>[number]

/** Each step with what waited at its end: what has begun until then and has not ended. */
const withPending = (series: Series, rows: ReadonlyArray<StepRow>): DeliveryStatistics["steps"] => {
  let pending = 0
  return filled(series, rows, (row) => {
    const { begun = 0, delivered = 0, failed = 0, p95_ms } = row ?? {}
    pending += begun - delivered - failed
    return { delivered, failed, pending, ...(p95_ms === undefined ? {} : { p95_ms }) }
  })
}

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

export const makeDeliveriesRepo = Effect.gen(function* () {
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

  const ofCaller = ({ notification, relayers }: VisibleDeliveries) =>
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
  const select = ({ filter, withBody, limit, after, ...selected }: DeliverySelection) => {
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
    }).pipe(query("Deliveries.select"))
  }

  /** None if it does not exist for the caller. */
  const find = (deliveries: VisibleDeliveries, id: DeliveryId) =>
    sql`SELECT ${columns} FROM deliveries t WHERE t.id = ${id} AND ${ofCaller(deliveries)}`.pipe(
      Effect.flatMap(readDelivery),
      query("Deliveries.find")
    )

  /** Makes a delivery due now, unless it is claimed. None if it does not exist for the caller. */
  const retry = (deliveries: VisibleDeliveries, id: DeliveryId) =>
    sql`
      UPDATE deliveries t SET state = 'pending', failures = 0, once = once OR state <> 'pending',
        next_attempt_at = CASE WHEN claim IS NULL THEN clock_timestamp() ELSE next_attempt_at END,
        give_up_at = CASE WHEN state = 'pending' THEN give_up_at ELSE clock_timestamp() + interval '24 hours' END
      WHERE id = ${id} AND ${ofCaller(deliveries)} RETURNING ${columns}`.pipe(
      Effect.flatMap(readDelivery),
      query("Deliveries.retry")
    )

  /** Makes at most `limit` deliveries due, the oldest first, as if they were new. Returns how many. */
  const replayed = (deliveries: VisibleDeliveries, { since, until, state }: ReplayDeliveries, limit: number) => sql`
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
      query("Deliveries.replay")
    )

  /** How many deliveries a replay would send. */
  const countReplayed = (...range: Parameters<typeof replayed>) =>
    replayed(...range).pipe(
      Effect.map((rows) => rows.length),
      query("Deliveries.countReplayed")
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
      query("Deliveries.insertTest")
    )

  /**
   * The deliveries that ended in a period, the newest, and those that wait now, by steps. Together they are all that waited at any time of
   * the period. Tests are left out.
   */
  const steps = (deliveries: VisibleDeliveries, { since, step }: Series, limit: number) => {
    const begin = sql`${since}::float8`
    const millis = (moment: Statement.Fragment) => sql`(extract(epoch FROM ${moment}) * 1000)::float8`
    const visible = (state: "pending" | "delivered" | "failed") =>
      sql`FROM deliveries t WHERE ${ofCaller(deliveries)} AND t.lane <> ${testLane} AND t.state = '${sql.literal(state)}'`
    const ended = (state: "delivered" | "failed", at: Statement.Fragment) => sql`
      SELECT t.state, ${millis(sql`t.created_at`)} AS created_at, ${millis(at)} AS ended_at
      ${visible(state)} AND ${at} >= to_timestamp(${begin} / 1000) ORDER BY ${at} DESC LIMIT ${limit}`
    return sql`
      WITH found AS MATERIALIZED (
        (SELECT * FROM (
          (${ended("delivered", sql`t.delivered_at`)}) UNION ALL (${ended("failed", sql`t.failed_at`)})
        ) e ORDER BY e.ended_at DESC LIMIT ${limit})
        UNION ALL
        (SELECT t.state, ${millis(sql`t.created_at`)}, NULL ${visible("pending")} LIMIT ${limit})
      ), changes AS (
        SELECT greatest(created_at, ${begin}) AS at, 1 AS begun, NULL AS state, NULL::float8 AS ms FROM found
        UNION ALL
        SELECT ended_at, 0, state, greatest(0, ended_at - created_at) FROM found WHERE ended_at IS NOT NULL
      )
      SELECT (floor(c.at / ${step}::float8) * ${step}::float8)::float8 AS at, sum(c.begun)::float8 AS begun,
        (count(*) FILTER (WHERE c.state = 'delivered'))::float8 AS delivered,
        (count(*) FILTER (WHERE c.state = 'failed'))::float8 AS failed,
        round(percentile_disc(0.95) WITHIN GROUP (ORDER BY c.ms) FILTER (WHERE c.state = 'delivered'))::float8 AS p95_ms
      FROM changes c GROUP BY 1`.pipe(Effect.flatMap(readSteps), query("Deliveries.steps"))
  }

  /** The deliveries that wait now, counted up to `limit`. */
  const waiting = (deliveries: VisibleDeliveries, limit: number) =>
    sql`
      SELECT count(*)::float8 AS pending, to_json(min(p.created_at)) #>> '{}' AS oldest_pending_at,
        to_json(min(p.give_up_at)) #>> '{}' AS gives_up_at
      FROM (
        SELECT t.created_at, t.give_up_at FROM deliveries t
        WHERE ${ofCaller(deliveries)} AND t.state = 'pending' LIMIT ${limit}
      ) p`.pipe(Effect.flatMap(readWaiting), query("Deliveries.waiting"))

  const failingSince = (notification: NotificationId) =>
    sql`
      SELECT to_json(t.failing_since) #>> '{}' AS failing_since FROM notifications t WHERE t.id = ${notification}`.pipe(
      Effect.flatMap(readFailing),
      query("Deliveries.failingSince")
    )

  return { select, find, retry, replay, countReplayed, insertTest, steps, waiting, failingSince }
})

const decodePlace = Schema.decodeUnknownEffect(Schema.Int)

const maxPerPage = 100

/** The records of the audit log. They contain nothing from the response of a receiver. */
const Tested = Schema.Struct({ delivery_id: DeliveryId, outcome: DeliveryOutcome })
const Retried = Schema.Struct({ delivery_id: DeliveryId })
const Replayed = Schema.Struct({ ...ReplayDeliveries.fields, ...ReplayedDeliveries.fields })

export class Deliveries extends Context.Service<
  Deliveries,
  {
    /** The latest delivery first. Fails with `BadRequest` if the cursor does not belong to this list. */
    list(
      notification: NotificationId,
      query: DeliveryQuery
    ): Effect.Effect<Items<Delivery>, NotificationNotFound | BadRequest>
    get(notification: NotificationId, id: DeliveryId): Effect.Effect<Delivery, NotificationNotFound | DeliveryNotFound>
    /** Deliveries to the receiver since a moment, and deliveries that wait. `BadRequest` if the series is too long. */
    statistics(
      notification: NotificationId,
      query: SeriesQuery
    ): Effect.Effect<DeliveryStatistics, NotificationNotFound | BadRequest>
    /**
     * Sends a delivery again, under the same id. If it is pending, its next attempt is due now, after the earlier deliveries of
     * its lane. Otherwise it gets a single attempt.
     */
    retry(
      notification: NotificationId,
      id: DeliveryId
    ): Effect.Effect<Delivery, NotificationNotFound | DeliveryNotFound>
    /** Sends all deliveries of a period again, as new ones with the same ids, or counts them. `BadRequest` if they are too many. */
    replay(
      notification: NotificationId,
      range: ReplayDeliveries
    ): Effect.Effect<ReplayedDeliveries, NotificationNotFound | BadRequest>
    /** Sends a test webhook once while the caller waits, also if the notification is paused. */
    test(notification: NotificationId): Effect.Effect<TestDelivery, NotificationNotFound | Caller.TooManyRequests>
  }
>()("effect-relayer/server/notifications/delivery/Deliveries") {
  /** @internal */
  static readonly layer = Layer.effect(
    Deliveries,
    Effect.gen(function* () {
      const repo = yield* makeDeliveriesRepo
      const receivers = yield* makeReceiversRepo
      const webhooks = yield* WebhookClient.make
      const notifications = yield* Notifications
      const cursors = yield* Cursors
      const audit = yield* Audit
      const outboundWork = yield* OutboundWork
      const due = yield* commitSignalOf("deliveries")
      const random = yield* SecureRandom.SecureRandom
      const transaction = yield* Transaction.make

      /** The deliveries that exist for the caller. */
      const of = Effect.fnUntraced(function* (notification: NotificationId) {
        yield* notifications.get(notification)
        return { notification, relayers: (yield* Caller.current).relayerIds }
      })

      const list = Effect.fn("Deliveries.list")(function* (
        notification: NotificationId,
        { limit, cursor, body: withBody = true, ...filter }: DeliveryQuery
      ) {
        const deliveries = yield* of(notification)
        const { state, type, relayer_id, event_id } = filter
        const list = JSON.stringify([
          "deliveries",
          notification,
          state,
          type,
          relayer_id,
          event_id,
          deliveries.relayers
        ])
        const after =
          cursor === undefined ? undefined : yield* Effect.orDie(decodePlace(yield* cursors.read(list, cursor)))
        const perPage = Math.min(limit ?? 20, maxPerPage)
        const found = yield* repo.select({ ...deliveries, filter, withBody, after, limit: perPage })
        const items = found.deliveries.map(({ delivery }) => delivery)
        const last = found.deliveries.at(-1)
        if (last === undefined || !found.isFull) return { items }
        return { items, next: yield* cursors.make(list, last.seq) }
      })

      const get = Effect.fn("Deliveries.get")(function* (notification: NotificationId, id: DeliveryId) {
        const delivery = yield* repo.find(yield* of(notification), id)
        return yield* Effect.mapError(Effect.fromOption(delivery), () => new DeliveryNotFound({}))
      })

      const statistics = Effect.fn("Deliveries.statistics")(function* (
        notification: NotificationId,
        query: SeriesQuery
      ) {
        const deliveries = yield* of(notification)
        const series = yield* seriesOf(query, yield* Clock.currentTimeMillis, longestSeries)
        const found = yield* repo.steps(deliveries, series, maxCountedDeliveries + 1)
        const counted = found.reduce((sum, { begun }) => sum + begun, 0)
        return {
          steps: withPending(series, found),
          complete: counted <= maxCountedDeliveries,
          ...(yield* repo.waiting(deliveries, maxCountedDeliveries)),
          ...(deliveries.relayers === undefined ? yield* repo.failingSince(notification) : {})
        }
      })

      const retry = Effect.fn("Deliveries.retry")(function* (notification: NotificationId, id: DeliveryId) {
        const delivery = yield* repo.retry(yield* of(notification), id)
        if (Option.isNone(delivery)) return yield* new DeliveryNotFound({})
        yield* audit.record({
          action: "notification.delivery_retried",
          id: notification,
          schema: Retried,
          after: { delivery_id: id }
        })
        yield* due.afterCommit
        yield* Effect.annotateLogs(Effect.logInfo("delivery retried"), {
          notification_id: notification,
          delivery_id: id
        })
        return delivery.value
      }, transaction)

      const replay = Effect.fn("Deliveries.replay")(function* (
        notification: NotificationId,
        { dry_run = false, ...range }: ReplayDeliveries
      ) {
        const send = dry_run ? repo.countReplayed : repo.replay
        const replayed = yield* send(yield* of(notification), range, maxReplayed + 1)
        if (replayed > maxReplayed) {
          const message = `there are more than ${maxReplayed} deliveries: choose a shorter period`
          return yield* BadRequest.of([{ field: "until", message }])
        }
        if (dry_run) return { replayed }
        const after = { ...range, replayed }
        yield* audit.record({ action: "notification.deliveries_replayed", id: notification, schema: Replayed, after })
        yield* due.afterCommit
        yield* Effect.annotateLogs(Effect.logInfo("deliveries replayed"), { notification_id: notification, replayed })
        return { replayed }
      }, transaction)

      const test = Effect.fn("Deliveries.test")(function* (notificationId: NotificationId) {
        const receiver = yield* receivers.find(notificationId)
        if (Option.isNone(receiver)) return yield* new NotificationNotFound({})
        const at = yield* DateTime.now
        const id = DeliveryId.make(yield* random.uuidV7())
        const body = Webhook.testBody({ id, at, notificationId })
        const { retryAfter: _, ...attempt } = yield* outboundWork.run(
          webhooks.send({ id, event: "test", body }, receiver.value)
        )
        const sent: TestDelivery = { id, at, ...attempt }
        const after = { delivery_id: id, outcome: sent.outcome }
        yield* transaction(
          Effect.andThen(
            repo.insertTest(notificationId, body, sent),
            audit.record({ action: "notification.tested", id: notificationId, schema: Tested, after })
          )
        )
        return sent
      })

      return Deliveries.of({ list, get, statistics, retry, replay, test })
    })
  ).pipe(Layer.provide([Cursors.layer, SecureRandom.layerWebCrypto]))
}
