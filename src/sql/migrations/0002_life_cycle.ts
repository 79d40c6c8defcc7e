// Adds versions, custom networks, the stored count of relayers, and indexes for the filters of lists.
import { Effect } from "effect"
import { SqlClient } from "effect/sql"

export default Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient

  // A row is a custom network, or a change of a built-in network. `definition` has its own fields without inherited ones.
  // `parent_id` is set if the parent is a custom network.
  yield* sql`
    CREATE TABLE networks (
      id text PRIMARY KEY,
      seq bigint GENERATED ALWAYS AS IDENTITY CONSTRAINT networks_seq_key UNIQUE,
      parent_id text CONSTRAINT networks_parent_id_fkey REFERENCES networks (id),
      definition jsonb NOT NULL,
      rpc_urls_sealed bytea,
      created_at timestamptz NOT NULL DEFAULT now()
    )`

  // `own_network_id` is set if the network of the relayer is a custom one.
  yield* sql`
    ALTER TABLE relayers
      ADD COLUMN version integer NOT NULL DEFAULT 1,
      ADD COLUMN own_network_id text CONSTRAINT relayers_own_network_id_fkey REFERENCES networks (id)`

  yield* sql`CREATE INDEX relayers_name_idx ON relayers (name COLLATE "C", seq)`
  yield* sql`CREATE INDEX relayers_network_idx ON relayers (network_type, network, seq)`
  yield* sql`CREATE INDEX relayers_own_network_id_idx ON relayers (own_network_id) WHERE own_network_id IS NOT NULL`
  yield* sql`CREATE INDEX relayers_paused_idx ON relayers (seq) WHERE paused`
  yield* sql`CREATE INDEX relayers_system_disabled_idx ON relayers (seq) WHERE system_disabled`

  // `config` has the fields of the configuration that responses show, `config_sealed` its secrets.
  yield* sql`
    ALTER TABLE signers
      ALTER COLUMN key_sealed DROP NOT NULL,
      ALTER COLUMN evm_address DROP NOT NULL,
      ALTER COLUMN solana_address DROP NOT NULL,
      ALTER COLUMN stellar_address DROP NOT NULL,
      ADD COLUMN config jsonb NOT NULL DEFAULT '{}',
      ADD COLUMN config_sealed bytea`

  // The number of relayers, updated in the transaction that changes it. Each connection updates one of 16 rows, so that writers
  // rarely wait for each other.
  yield* sql`
    CREATE TABLE relayer_counts (
      slot smallint PRIMARY KEY,
      count bigint NOT NULL
    ) WITH (fillfactor = 10)`
  yield* sql`INSERT INTO relayer_counts SELECT slot, 0 FROM generate_series(0, 15) slot`
  yield* sql`UPDATE relayer_counts SET count = (SELECT count(*) FROM relayers) WHERE slot = 0`
  yield* sql`
    CREATE FUNCTION relayer_counts_update() RETURNS trigger LANGUAGE plpgsql AS $$
    BEGIN
      IF TG_OP = 'TRUNCATE' THEN
        UPDATE relayer_counts SET count = 0;
        RETURN NULL;
      END IF;
      UPDATE relayer_counts
      SET count = count + CASE TG_OP WHEN 'INSERT' THEN 1 ELSE -1 END * (SELECT count(*) FROM changed)
      WHERE slot = pg_backend_pid() % 16;
      RETURN NULL;
    END $$`
  yield* sql`
    CREATE TRIGGER relayer_counts_insert AFTER INSERT ON relayers
      REFERENCING NEW TABLE AS changed FOR EACH STATEMENT EXECUTE FUNCTION relayer_counts_update()`
  yield* sql`
    CREATE TRIGGER relayer_counts_delete AFTER DELETE ON relayers
      REFERENCING OLD TABLE AS changed FOR EACH STATEMENT EXECUTE FUNCTION relayer_counts_update()`
  yield* sql`
    CREATE TRIGGER relayer_counts_truncate AFTER TRUNCATE ON relayers
      FOR EACH STATEMENT EXECUTE FUNCTION relayer_counts_update()`
})
