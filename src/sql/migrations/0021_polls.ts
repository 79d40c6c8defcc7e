// Calls a request for the state of the chain a poll, as the code does, and the refusal of a used nonce by its cause.
import { Effect } from "effect"
import { SqlClient } from "effect/sql"

export default Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient

  yield* sql`ALTER TABLE lanes RENAME COLUMN next_look_at TO next_poll_at`
  yield* sql`
    UPDATE attempts SET refusal = jsonb_set(refusal::jsonb, '{class}', '"nonce"')::json
    WHERE refusal ->> 'class' = 'look'`
})
