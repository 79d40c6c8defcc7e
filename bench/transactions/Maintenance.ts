// Keeps checkpoints and autovacuum out of the cases, because chance would decide which case pays for them: after a checkpoint,
// PostgreSQL logs the first change of each page as a whole (ADR 0015 has these figures), and autovacuum reads whole tables.
import { Effect } from "effect"
import type { World } from "./World.ts"

/** PostgreSQL begins no checkpoint by itself before an hour or 16 GB of its log; a run ends earlier. */
export const postpone = ({ installation: { sql } }: World) =>
  Effect.gen(function* () {
    yield* sql`ALTER SYSTEM SET checkpoint_timeout = '1h'`
    yield* sql`ALTER SYSTEM SET max_wal_size = '16GB'`
    yield* sql`ALTER SYSTEM SET autovacuum = off`
    yield* sql`SELECT pg_reload_conf()`
  })

/** Both, for all tables. The warm-up that follows changes the pages that the cases change. */
export const take = ({ installation: { sql } }: World) =>
  Effect.gen(function* () {
    yield* sql`VACUUM ANALYZE`
    yield* sql`CHECKPOINT`
  })

/** New statistics, as autovacuum makes them within seconds: plans for tables with a few rows read whole tables. */
export const analyze = ({ installation: { sql } }: World) => sql`ANALYZE`
