// How the newest prebuilt transactions of API keys ended on their chain.
import { Effect, Schema } from "effect"
import { client, query } from "../../../sql/Query.ts"
import * as Rows from "../../../sql/Rows.ts"

const KeyLandings = Schema.Struct({
  key_id: Schema.String,
  failed: Schema.Int,
  /** When the newest one that failed became final. Absent: none failed. */
  failed_at: Schema.optionalKey(Schema.Int)
})
export type KeyLandings = typeof KeyLandings.Type

const readLandings = Rows.all(Rows.withoutNulls(KeyLandings))

export const make = Effect.gen(function* () {
  const sql = yield* client

  /** Counts, for each key, the failures among its newest `last` transactions that landed on networks of the type. */
  const landingsOf = (keyIds: ReadonlyArray<string>, networkType: string, last: number) =>
    sql`
      SELECT k.id AS key_id, count(*) FILTER (WHERE newest.state = 'failed')::float8 AS failed,
        (extract(epoch FROM max(newest.final_at) FILTER (WHERE newest.state = 'failed')) * 1000)::bigint::float8 AS failed_at
      FROM unnest(${keyIds}::text[]) k (id), LATERAL (
        SELECT t.state, t.final_at FROM transactions t JOIN lanes l ON l.id = t.lane_id
        WHERE t.api_key_id = k.id AND t.identity IS NOT NULL AND t.mined_attempt IS NOT NULL AND t.final_at IS NOT NULL
          AND split_part(l.chain, ':', 1) = ${networkType}
        ORDER BY t.final_at DESC LIMIT ${last}
      ) newest GROUP BY k.id`.pipe(Effect.flatMap(readLandings), query("KeyLandingsRepo.landingsOf"))

  return { landingsOf }
})
