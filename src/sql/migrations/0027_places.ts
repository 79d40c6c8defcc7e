// Makes room for networks other than evm: sequences of several accounts per lane, facts of a row, and the identity of requests.
import { Effect } from "effect"
import { SqlClient } from "effect/sql"

export default Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient

  // A row with a parent is another account that the parent's lane signs with: it is never claimed by itself. `next_nonce`,
  // `chain_nonce` and `settled_nonce` are sequences of any network. `counters`: what the network remembers besides them.
  yield* sql`
    ALTER TABLE lanes ADD parent_id bigint CONSTRAINT lanes_parent_id_fkey REFERENCES lanes (id), ADD counters json`
  yield* sql`CREATE INDEX lanes_parent_idx ON lanes (parent_id) WHERE parent_id IS NOT NULL`

  // `channel_id`: the account whose sequence is `nonce`. Null: that of the lane. `guest`: a foreign account whose bytes use no
  // sequence of the lane. `receipt`: of bytes that no attempt is. `identity`: two requests with the same one are the same
  // bytes; it names its chain, and is null when the row has ended without effect.
  yield* sql`
    ALTER TABLE transactions ADD channel_id bigint CONSTRAINT transactions_channel_id_fkey REFERENCES lanes (id),
      ADD guest text, ADD facts json, ADD identity text, ADD exclusive text, ADD receipt json`
  yield* sql`
    ALTER TABLE transactions DROP CONSTRAINT transactions_nonce_key, DROP CONSTRAINT transactions_lane_check,
      DROP CONSTRAINT transactions_mined_check, DROP CONSTRAINT transactions_origin_check`
  yield* sql`
    CREATE UNIQUE INDEX transactions_nonce_key ON transactions ((coalesce(channel_id, lane_id)), generation, nonce)`
  yield* sql`
    ALTER TABLE transactions ADD CONSTRAINT transactions_lane_check CHECK (lane_id IS NULL OR nonce IS NOT NULL
        OR guest IS NOT NULL OR state IN ('pending', 'failed', 'canceled', 'expired') OR receipt IS NOT NULL),
      ADD CONSTRAINT transactions_mined_check
        CHECK (state NOT IN ('mined', 'confirmed') OR mined_attempt IS NOT NULL OR receipt IS NOT NULL)`
  yield* sql`
    CREATE UNIQUE INDEX transactions_identity_key ON transactions (generation, identity) WHERE identity IS NOT NULL`
  yield* sql`
    CREATE UNIQUE INDEX transactions_exclusive_key ON transactions (lane_id, exclusive)
      WHERE exclusive IS NOT NULL AND final_at IS NULL`

  // `offer` has all that an attempt offers: what were the columns `fees`, `gas_limit` and `data_fee`. `account`: null for the
  // account of the lane.
  yield* sql`ALTER TABLE attempts ADD account text`
  yield* sql`ALTER TABLE attempts RENAME fees TO offer`
  yield* sql`
    UPDATE attempts SET offer = (offer::jsonb || jsonb_strip_nulls(
      jsonb_build_object('gasLimit', gas_limit::text, 'rollupFee', data_fee::text)))::json`
  yield* sql`ALTER TABLE attempts DROP gas_limit, DROP data_fee`
})
