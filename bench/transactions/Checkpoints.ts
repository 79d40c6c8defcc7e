// Keeps checkpoints out of the cases: after one, PostgreSQL logs the first change of each page as a whole, and chance would decide
// which case pays for it. ADR 0015 has the figures directly after a checkpoint.
import { Effect } from "effect"
import type { World } from "./World.ts"

/** PostgreSQL begins no checkpoint by itself before an hour or 16 GB of its log; a run ends earlier. */
export const postpone = ({ installation: { sql } }: World) =>
  Effect.gen(function* () {
    yield* sql`ALTER SYSTEM SET checkpoint_timeout = '1h'`
    yield* sql`ALTER SYSTEM SET max_wal_size = '16GB'`
    yield* sql`SELECT pg_reload_conf()`
  })

/** At the beginning of a part: its warm-up changes the pages that the cases change. */
export const take = ({ installation: { sql } }: World) => sql`CHECKPOINT`
