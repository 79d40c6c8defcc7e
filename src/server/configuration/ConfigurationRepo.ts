// What configurations need of the database beyond the resources.
import { Effect } from "effect"
import { client, query } from "../../sql/Query.ts"

export const make = Effect.gen(function* () {
  const sql = yield* client

  /** The first statement of a transaction whose reads are all of one moment. */
  const snapshot = sql`SET TRANSACTION ISOLATION LEVEL REPEATABLE READ, READ ONLY`.pipe(
    Effect.asVoid,
    query("ConfigurationRepo.snapshot")
  )

  return { snapshot }
})
