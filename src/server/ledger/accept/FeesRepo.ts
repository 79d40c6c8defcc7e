// The fees of API keys in the tables `transactions` and `signatures_given`.
import { Effect, Schema } from "effect"
import type { Moment } from "../../../domain/transaction/Moment.ts"
import type { FeeLimit } from "../NewTransaction.ts"
import { client, query } from "../../../sql/Query.ts"
import * as Rows from "../../../sql/Rows.ts"

const readLimits = Rows.all(
  Schema.Struct({ key_id: Schema.String, network_type: Schema.String, maximum: Schema.BigIntFromString })
)
const readSum = Rows.one(Schema.Struct({ sum: Schema.BigIntFromString }))

/** Names a limit. */
export type LimitKey = Pick<FeeLimit, "keyId" | "networkType">

export const make = Effect.gen(function* () {
  const sql = yield* client

  /**
   * Locks the limits in the order of their keys and network types, until the transaction ends, and returns those that it found, as they are
   * now. A change deletes and inserts the limits of a key: a statement that waits for it finds neither.
   */
  const lockLimits = (limits: ReadonlyArray<LimitKey>) => {
    const ids = limits.map(({ keyId }) => keyId)
    const types = limits.map(({ networkType }) => networkType)
    return sql`
      SELECT l.key_id, l.network_type, l.maximum::text AS maximum FROM api_key_fee_limits l
      WHERE (l.key_id, l.network_type) IN (SELECT * FROM unnest(${ids}::text[], ${types}::text[]))
      ORDER BY l.key_id, l.network_type FOR UPDATE`.pipe(
      Effect.flatMap(readLimits),
      Effect.map((rows) =>
        rows.map(({ key_id, network_type, maximum }): FeeLimit => ({
          keyId: key_id,
          networkType: network_type,
          maximum
        }))
      ),
      query("FeesRepo.lockLimits")
    )
  }

  /**
   * What transactions of the key and of its descendants on networks of the type can cost, or have cost if they became final
   * after `since`, and what signatures that were given since then can cost, landed or not, in the smallest unit. Deleted descendants are included. `chain` of a lane begins with the network type.
   */
  const sum = ({ keyId, networkType }: LimitKey, since: Moment) =>
    sql`
      WITH keys AS MATERIALIZED (
        SELECT array_agg(id) AS ids FROM (
          SELECT ${keyId}::text AS id UNION ALL SELECT d.id FROM api_key_descendants d WHERE d.ancestor = ${keyId}
        ) named
      )
      SELECT ((
          SELECT coalesce(sum(t.fee), 0) FROM transactions t JOIN lanes l ON l.id = t.lane_id
          WHERE split_part(l.chain, ':', 1) = ${networkType} AND t.api_key_id = ANY((SELECT ids FROM keys)::text[])
            AND t.fee IS NOT NULL AND (t.final_at IS NULL OR t.final_at > to_timestamp(${since}::float8 / 1000))
        ) + (
          SELECT coalesce(sum(g.fee), 0) FROM signatures_given g
          WHERE split_part(g.chain, ':', 1) = ${networkType} AND g.key_id = ANY((SELECT ids FROM keys)::text[])
            AND g.created_at > to_timestamp(${since}::float8 / 1000)
        ))::text AS sum`.pipe(
      Effect.flatMap(readSum),
      Effect.map((row) => row.sum),
      query("FeesRepo.sum")
    )

  return { lockLimits, sum }
})
