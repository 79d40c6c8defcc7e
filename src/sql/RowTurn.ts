// A queue in front of a row's lock. PostgreSQL gives a shared lock of a row at once while others share it, so a change of the row waits as long
// as shared locks overlap: for seconds, if ten callers hold one for 5 ms each (ADR 0025). Advisory locks are given in the order of requests:
// a shared lock of the row comes after `shared` or `trying`, and a change that would have to wait for the row waits for `exclusive` before it.
import type { SqlClient, Statement } from "effect/sql"

/** Keeps the keys apart from other advisory locks, which hash texts with the seed 0. */
const seed = "1"

/** `number`: identifies the row, and is never used again. */
const key = (sql: SqlClient.SqlClient, number: Statement.Fragment) =>
  sql`hashint8extended(${number}, ${sql.literal(seed)})`

/** An expression that waits until no change waits for the row. Its lock is kept until the transaction ends. */
export const shared = (sql: SqlClient.SqlClient, number: Statement.Fragment) =>
  sql`pg_advisory_xact_lock_shared(${key(sql, number)})`

/** The same as a condition that does not wait: false if a change waits for the row. */
export const trying = (sql: SqlClient.SqlClient, number: Statement.Fragment) =>
  sql`pg_try_advisory_xact_lock_shared(${key(sql, number)})`

/** An expression that waits for the transactions that share the row, while later ones wait for it. Its lock is kept until the transaction ends. */
export const exclusive = (sql: SqlClient.SqlClient, number: Statement.Fragment) =>
  sql`pg_advisory_xact_lock(${key(sql, number)})`
