// SQL expressions for lists of `relayers t`: the last check of a relayer, and its open transactions. The feature `health` writes the
// checks. Lists read them in the statement of their page.
import type { SqlClient, Statement } from "effect/sql"
import type { HealthStatus } from "../../domain/health/ListedHealth.ts"

/** `relayer_checks_need_idx` has the same condition. */
const inNeed = (sql: SqlClient.SqlClient) =>
  sql`((c.state ->> 'status') IN ('degraded', 'failing', 'disabled') OR (c.state ->> 'told_low') = 'true')`

/** Whether the relayer is in this state. */
export const hasState = (sql: SqlClient.SqlClient, state: HealthStatus) => {
  const isState = sql`(c.state ->> 'status') = ${state}`
  const condition = state === "healthy" || state === "unknown" ? isState : sql`${inNeed(sql)} AND ${isState}`
  return sql`t.id IN (SELECT c.relayer_id FROM relayer_checks c WHERE ${condition})`
}

/**
 * How urgently the relayer needs an operator: 0 is the most urgent. PostgreSQL evaluates each subquery once, with the index of
 * relayers in need, so that healthy relayers cost nothing.
 */
export const rank = (sql: SqlClient.SqlClient) => {
  const among = (condition: Statement.Fragment) =>
    sql`t.id IN (SELECT c.relayer_id FROM relayer_checks c WHERE ${inNeed(sql)} AND ${condition})`
  return sql`
    CASE WHEN ${among(sql`(c.state ->> 'status') = 'disabled'`)} THEN 0
      WHEN ${among(sql`(c.state ->> 'status') = 'failing'`)} THEN 1
      WHEN ${among(sql`(c.state ->> 'status') = 'degraded'`)} THEN 2
      WHEN ${among(sql`(c.state ->> 'told_low') = 'true'`)} THEN 3
      ELSE 4 END`
}

const iso = (sql: SqlClient.SqlClient, at: Statement.Fragment) =>
  sql`to_char(${at} AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"')`

/**
 * The open transactions of a relayer. Their states are neighbours in the order of text, so that the index is searched once; a list of
 * states would make PostgreSQL before version 17 search it once for each state.
 */
const open = (sql: SqlClient.SqlClient) => sql`o.relayer_number = t.seq AND o.state BETWEEN 'mined' AND 'submitted'`

/** The checks of relayers `t`, which `listed` reads. A join, so that PostgreSQL may read a small table at once instead of each row by the index. */
export const joined = (sql: SqlClient.SqlClient) => sql`LEFT JOIN relayer_checks c ON c.relayer_id = t.id`

/** The JSON of `ListedHealth`, or null. */
export const listed = (sql: SqlClient.SqlClient) => sql`
  CASE WHEN c.relayer_id IS NOT NULL THEN (
    SELECT json_strip_nulls(json_build_object(
      'state', c.state ->> 'status',
      'code', coalesce(
        c.state -> 'reason' ->> 'type',
        CASE WHEN c.state ->> 'status' = 'degraded' THEN 'provider_failed' END,
        CASE WHEN c.state ->> 'told_low' = 'true' THEN 'low_balance' END
      ),
      'since', ${iso(sql, sql`c.since`)},
      'balance', c.reading ->> 'balance',
      'read_at', ${iso(sql, sql`c.read_at`)},
      'open', open.count,
      'oldest_open_at', ${iso(sql, sql`open.oldest`)},
      'last_confirmed_at', ${iso(
        sql,
        sql`(
          SELECT o.final_at FROM transactions o
          WHERE o.relayer_number = t.seq AND o.state = 'confirmed' AND o.origin = 'request' ORDER BY -o.number LIMIT 1)`
      )}
    ))::text
    FROM (SELECT count(*) AS count, min(o.created_at) AS oldest FROM transactions o WHERE ${open(sql)}) open
  ) END`
