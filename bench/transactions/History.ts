// What the stored transactions of all networks share.
import type { SqlClient } from "effect/sql"

/** An id as the service makes them (UUIDv7): the milliseconds of `at`, then random digits. */
export const idAt = (sql: SqlClient.SqlClient) => sql`(
  lpad(to_hex((extract(epoch FROM at) * 1000)::bigint), 12, '0') || '7' || substr(md5(random()::text), 1, 3)
  || '8' || substr(md5(random()::text), 1, 15)
)::uuid`
