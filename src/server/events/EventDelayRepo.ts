// Events that no reader sees yet, because an older transaction on the database server is still running (ADR 0007).
import { Effect, Schema } from "effect"
import { client, query } from "../../sql/Query.ts"
import * as Rows from "../../sql/Rows.ts"

const Delay = Schema.Struct({
  count: Rows.Integer,
  /** The age of the oldest of them, in seconds; 0 if there are none. */
  seconds: Schema.Finite
})
type Delay = typeof Delay.Type

/** The oldest transaction of the server. The database hides some fields of sessions of other users. */
const Holder = Schema.Struct({
  /** Absent: it is a prepared transaction. */
  pid: Schema.optionalKey(Schema.Int),
  /** The name of a prepared transaction. */
  prepared: Schema.optionalKey(Schema.String),
  database: Schema.optionalKey(Schema.String),
  user: Schema.optionalKey(Schema.String),
  application: Schema.optionalKey(Schema.String),
  state: Schema.optionalKey(Schema.String)
})
type Holder = typeof Holder.Type

const readDelay = Rows.one(Delay)
const readHolder = Rows.first(Rows.withoutNulls(Holder))

export const make = Effect.gen(function* () {
  const sql = yield* client
  const oldest = sql`pg_snapshot_xmin(pg_current_snapshot())`

  const measure = sql`
    SELECT count(*) AS count, coalesce(extract(epoch FROM clock_timestamp() - min(at)), 0)::float8 AS seconds
    FROM events WHERE xid >= ${oldest}`.pipe(Effect.flatMap(readDelay), query("EventDelayRepo.measure"))

  /** The transaction that events wait for; none if it has just ended. */
  const holder = sql`
    SELECT pid, NULL AS prepared, datname::text AS database, usename::text AS user, application_name AS application, state
    FROM pg_stat_activity WHERE backend_xid = ${oldest}::xid
    UNION ALL
    SELECT NULL, gid, database::text, owner::text, NULL, NULL FROM pg_prepared_xacts WHERE transaction = ${oldest}::xid
    LIMIT 1`.pipe(Effect.flatMap(readHolder), query("EventDelayRepo.holder"))

  return { measure, holder }
})
