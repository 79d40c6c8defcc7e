// The table `relayer_balances`. `HealthRepo` writes it with the result of a check.
import { Effect, Schema } from "effect"
import { keptBalances } from "../../domain/health/Funding.ts"
import type { RelayerId } from "../../domain/relayer/Relayer.ts"
import { client, query } from "../../sql/Query.ts"
import * as Rows from "../../sql/Rows.ts"

const readRows = Rows.all(Schema.Struct({ at: Schema.Int, balance: Schema.BigIntFromString }))

export const make = Effect.gen(function* () {
  const sql = yield* client

  /** Balances since a moment, the oldest first. The first one is the balance at that moment, if it is known. */
  const since = (id: RelayerId, moment: number) =>
    sql`
      SELECT greatest(extract(epoch FROM b.at) * 1000, ${moment}::float8)::bigint::float8 AS at, b.balance::text AS balance
      FROM relayer_balances b
      WHERE b.relayer_id = ${id} AND b.at >= coalesce((
        SELECT max(o.at) FROM relayer_balances o
        WHERE o.relayer_id = ${id} AND o.at <= to_timestamp(${moment}::float8 / 1000)), '-infinity')
      ORDER BY b.at`.pipe(Effect.flatMap(readRows), query("BalancesRepo.since"))

  /** Deletes at most `limit` expired rows, but never the newest row of a relayer. Returns the number of deleted rows. */
  const prune = (limit: number) =>
    sql`
      DELETE FROM relayer_balances WHERE (relayer_id, at) IN (
        SELECT b.relayer_id, b.at FROM relayer_balances b
        WHERE b.at < now() - ${keptBalances}::float8 * interval '1 millisecond'
          AND EXISTS (SELECT FROM relayer_balances o WHERE o.relayer_id = b.relayer_id AND o.at > b.at)
        ORDER BY b.at LIMIT ${limit}
      ) RETURNING 1`.pipe(
      Effect.map((rows) => rows.length),
      query("BalancesRepo.prune")
    )

  return { since, prune }
})
