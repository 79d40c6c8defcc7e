// Creates the table of signatures that the service gives to callers and does not send itself.
import { Effect } from "effect"
import { SqlClient } from "effect/sql"

export default Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient

  // Anybody can send `raw`, until `valid_until` or until the chain has passed the height `last_height`. `fee` is in the smallest
  // unit. `identity` is as in `transactions`. There is no foreign key to `relayers`, because the rows outlive them.
  yield* sql`
    CREATE TABLE signatures_given (
      id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
      relayer_number bigint NOT NULL,
      key_id text NOT NULL,
      chain text NOT NULL,
      address text NOT NULL,
      generation integer NOT NULL,
      identity text,
      hash text NOT NULL,
      raw bytea NOT NULL,
      fee numeric(78) NOT NULL,
      valid_until timestamptz,
      last_height bigint,
      created_at timestamptz NOT NULL,
      CONSTRAINT signatures_given_end_check CHECK (num_nonnulls(valid_until, last_height) = 1)
    )`
  yield* sql`
    CREATE UNIQUE INDEX signatures_given_identity_key ON signatures_given (generation, identity) WHERE identity IS NOT NULL`
  yield* sql`CREATE INDEX signatures_given_lane_idx ON signatures_given (chain, address)`
  yield* sql`CREATE INDEX signatures_given_key_id_idx ON signatures_given (key_id, created_at)`
  yield* sql`CREATE INDEX signatures_given_hash_idx ON signatures_given USING hash (hash)`
  yield* sql`CREATE INDEX signatures_given_created_at_idx ON signatures_given (created_at)`
})
