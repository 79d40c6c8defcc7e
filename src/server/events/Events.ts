// Publishes events in the transaction of the change that they report, so that neither exists alone.
// Measures how long readers wait for them.
import { Context, Effect, Layer, Metric, Option, Schema } from "effect"
import { SqlClient } from "effect/sql"
import type { Statement } from "effect/sql"
import type { KnownEventType, NewEvent } from "../../domain/event/Event.ts"
import { client, query } from "../../sql/Query.ts"
import * as Rows from "../../sql/Rows.ts"
import { notify } from "../../sql/Session.ts"
import { commitSignalOf, Conditions, Jobs } from "../lifecycle/Lifecycle.ts"
import { measureGauge } from "../lifecycle/SharedJobs.ts"
import { currentRequestId } from "../responses/CurrentRequest.ts"
import * as EventsRepo from "./EventsRepo.ts"

/** The PostgreSQL channel on which instances notify each other that there are new events. */
export const channel = "effect_relayer_events"

/** Events that are committed within this time share a notification. */
const gather = "50 millis"

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

export class Events extends Context.Service<
  Events,
  {
    /** Part of the running transaction. Returns the event's id. */
    emit<S extends Schema.ConstraintEncoder<unknown>>(event: NewEvent<S>): Effect.Effect<number>
    /** The same for a batch, with one statement. Returns the ids in the order of the events. */
    emitMany(events: ReadonlyArray<EncodedEvent>): Effect.Effect<ReadonlyArray<number>>
    /** The same, and the text of an SQL expression, which the same statement reads. Undefined: it is null. */
    emitReading(
      events: ReadonlyArray<EncodedEvent>,
      expression: Statement.Fragment
    ): Effect.Effect<{ readonly ids: ReadonlyArray<number>; readonly read: string | undefined }>
  }
>()("effect-relayer/server/events/Events") {
  static readonly layer = Layer.effect(
    Events,
    Effect.gen(function* () {
      const repo = yield* EventsRepo.make
      const sql = yield* SqlClient.SqlClient
      const jobs = yield* Jobs
      const written = yield* commitSignalOf("events")

      const adopting = yield* jobs.supervise({ job: "events", task: "adopt" })
      yield* Effect.forkScoped(Effect.andThen(adopting(repo.adopt), written.now))

      yield* jobs.run({
        job: "events",
        task: "notify",
        work: notify(sql, channel),
        wait: () => Effect.andThen(Effect.sleep(gather), written.wait())
      })

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

      const emitMany = (events: ReadonlyArray<EncodedEvent>) => Effect.map(emitReading(events), ({ ids }) => ids)

      const emit = Effect.fnUntraced(function* <S extends Schema.ConstraintEncoder<unknown>>(event: NewEvent<S>) {
        const [id] = yield* emitMany([encode(event, (yield* currentRequestId) ?? null)])
        return Number(id)
      })

      return Events.of({ emit, emitMany, emitReading })
    })
  )
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
