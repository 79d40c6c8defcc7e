// What a rollup may charge for the data of an attempt, beside gas.
import { Effect } from "effect"
import { SqlClient } from "effect/sql"

export default Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient

  yield* sql`ALTER TABLE attempts ADD COLUMN data_fee numeric`
})
