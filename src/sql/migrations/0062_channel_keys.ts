// Stores the keys of channels, and finds relayers whose policy wants channels.
import { Effect } from "effect"
import { SqlClient } from "effect/sql"
import * as Migration from "./Migration.ts"

export default Migration.make(
  "compatible",
  Effect.gen(function* () {
    const sql = yield* SqlClient.SqlClient

    // A separate table, because lanes have numbers as ids, and a sealed value is bound to a text. A key is never deleted: its
    // account can still exist. As with all sealed values, the mark of the master key stays while a value needs it.
    yield* sql`
      CREATE TABLE channel_keys (
        address text PRIMARY KEY,
        key_sealed bytea NOT NULL,
        key_sealed_key_id text GENERATED ALWAYS AS (
          CASE WHEN octet_length(key_sealed) >= 33 THEN encode(substring(key_sealed FROM 2 FOR 4), 'hex') END
        ) STORED CONSTRAINT channel_keys_key_sealed_key_id_fkey REFERENCES master_key (key_id)
      )`
    yield* sql`
      CREATE INDEX relayers_channels_idx ON relayers (id)
        WHERE network_type = 'stellar' AND (policies -> 'channels') IS NOT NULL`
    yield* sql`
      CREATE INDEX transactions_channels_idx ON transactions (lane_id, final_at) WHERE origin = 'channel'`
  })
)
