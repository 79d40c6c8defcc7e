// Deletes old rows of the table `transactions`, beginning with those that became final first.
import { Duration, Effect } from "effect"
import { client, query } from "../../../sql/Query.ts"

export const make = Effect.gen(function* () {
  const sql = yield* client

  /**
   * Deletes at most `limit` transactions that became final longer than `age` ago. Returns how many. An array is read once: PostgreSQL may
   * read a list with a limit again for each row, and then it skips rows that it has locked, and takes others.
   */
  const prune = (age: Duration.Duration, limit: number) =>
    sql`
      DELETE FROM transactions WHERE id = ANY(ARRAY(
        SELECT id FROM transactions WHERE final_at < now() - ${Duration.toSeconds(age)}::float8 * interval '1 second'
        ORDER BY final_at LIMIT ${limit} FOR UPDATE SKIP LOCKED
      )) RETURNING 1`.pipe(
      Effect.map((rows) => rows.length),
      query("TransactionRetentionRepo.prune")
    )

  return { prune }
})
