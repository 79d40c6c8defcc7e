// The fees of API keys in the table `transactions`.
import { Context, Effect, Layer, Schema } from "effect"
import type { Moment } from "../../domain/transaction/Moment.ts"
import { client, query } from "../../sql/Query.ts"
import * as Rows from "../../sql/Rows.ts"

const readSum = Rows.one(Schema.Struct({ sum: Schema.BigIntFromString }))

export class FeesRepo extends Context.Service<
  FeesRepo,
  {
    /** Locks the limits of API keys, in the order of the ids, until the transaction ends. */
    lockLimits(keyIds: ReadonlyArray<string>): Effect.Effect<void>
    /**
     * Wei that transactions of the key and of its descendants can cost, or have cost if they became final after `since`.
     * Deleted descendants are included.
     */
    sum(keyId: string, since: Moment): Effect.Effect<bigint>
  }
>()("effect-relayer/server/ledger/FeesRepo") {
  static readonly layer = Layer.effect(
    FeesRepo,
    Effect.gen(function* () {
      const sql = yield* client

      const lockLimits = (ids: ReadonlyArray<string>) =>
        sql`SELECT 1 FROM api_key_fee_limits WHERE key_id = ANY(${ids}::text[]) ORDER BY key_id FOR UPDATE`.pipe(
          Effect.asVoid,
          query("FeesRepo.lockLimits")
        )

      const sum = (keyId: string, since: Moment) =>
        sql`
          SELECT coalesce(sum(t.fee), 0)::text AS sum FROM transactions t
          WHERE t.api_key_id = ANY(ARRAY(
              SELECT ${keyId}::text UNION ALL SELECT d.id FROM api_key_descendants d WHERE d.ancestor = ${keyId}
            )) AND t.fee IS NOT NULL AND (t.final_at IS NULL OR t.final_at > to_timestamp(${since}::float8 / 1000))`.pipe(
          Effect.flatMap(readSum),
          Effect.map((row) => row.sum),
          query("FeesRepo.sum")
        )

      return FeesRepo.of({ lockLimits, sum })
    })
  )
}
