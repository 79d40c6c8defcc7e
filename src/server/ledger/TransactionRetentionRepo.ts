// Deletes old rows of the table `transactions`, beginning with those that became final first.
import { Context, Duration, Effect, Layer } from "effect"
import { client, query } from "../../sql/Query.ts"

export class TransactionRetentionRepo extends Context.Service<
  TransactionRetentionRepo,
  {
    /** Deletes at most `limit` transactions that became final longer than `age` ago. Returns how many. */
    prune(age: Duration.Duration, limit: number): Effect.Effect<number>
  }
>()("effect-relayer/server/ledger/TransactionRetentionRepo") {
  static readonly layer = Layer.effect(
    TransactionRetentionRepo,
    Effect.gen(function* () {
      const sql = yield* client

      const prune = (age: Duration.Duration, limit: number) =>
        sql`
          DELETE FROM transactions WHERE id IN (
            SELECT id FROM transactions WHERE final_at < now() - ${Duration.toSeconds(age)}::float8 * interval '1 second'
            ORDER BY final_at LIMIT ${limit} FOR UPDATE SKIP LOCKED
          ) RETURNING 1`.pipe(
          Effect.map((rows) => rows.length),
          query("TransactionRetentionRepo.prune")
        )

      return TransactionRetentionRepo.of({ prune })
    })
  )
}
