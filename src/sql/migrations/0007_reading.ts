// Adds the JSON of each relayer as responses show it, which is written with the relayer, and the number of relayers per block of the
// list.
import { Effect } from "effect"
import { SqlClient } from "effect/sql"

export default Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient

  // `json` keeps the text as it was written, unlike `jsonb`. A trigger that names a column prevents a change of the column's type.
  yield* sql`DROP TRIGGER relayer_checks_update ON relayers`
  yield* sql`
    ALTER TABLE relayers
      ALTER COLUMN policies TYPE json,
      ALTER COLUMN custom_rpc_urls TYPE json,
      ALTER COLUMN disabled_reason TYPE json`
  yield* sql`
    CREATE TRIGGER relayer_checks_update AFTER UPDATE OF version, policies, custom_rpc_urls_sealed ON relayers
      FOR EACH ROW WHEN (
        OLD.version <> NEW.version AND (OLD.policies::text, OLD.custom_rpc_urls_sealed)
          IS DISTINCT FROM (NEW.policies::text, NEW.custom_rpc_urls_sealed)
      ) EXECUTE FUNCTION relayer_checks_update()`

  // `to_json` is not immutable because some types depend on settings. The type text does not.
  yield* sql`
    CREATE FUNCTION json_string(value text) RETURNS text LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE
      RETURN to_json(value)::text`

  // The fields have the order of `Relayer` in `domain/relayer/Relayer.ts`; `test/server/relayers/RelayerJson.test.ts` compares them. Ids,
  // types and addresses need no escapes.
  yield* sql`
    ALTER TABLE relayers ADD COLUMN json text NOT NULL GENERATED ALWAYS AS (
      '{"id":"' || id || '","name":' || json_string(name) || ',"network":' || json_string(network)
      || ',"address":"' || address || '","paused":' || paused::text || ',"system_disabled":' || system_disabled::text
      || coalesce(',"disabled_reason":' || disabled_reason::text, '')
      || ',"signer_id":"' || signer_id || '"'
      || coalesce(',"notification_id":"' || notification_id || '"', '')
      || coalesce(',"custom_rpc_urls":' || custom_rpc_urls::text, '')
      || ',"network_type":"' || network_type || '"'
      || coalesce(',"policies":' || policies::text, '') || '}'
    ) STORED`

  // The number of relayers per 8192 sequence numbers, so that a page far down the list is found without reading the rows before it. Each
  // block has up to 16 rows, because all creates count in the last block and would wait for each other.
  yield* sql`
    CREATE TABLE relayer_blocks (
      block bigint,
      slot smallint,
      count bigint NOT NULL,
      PRIMARY KEY (block, slot)
    ) WITH (fillfactor = 50)`
  yield* sql`INSERT INTO relayer_blocks SELECT seq >> 13, 0, count(*) FROM relayers GROUP BY 1`
  yield* sql`
    CREATE OR REPLACE FUNCTION relayer_counts_update() RETURNS trigger LANGUAGE plpgsql AS $$
    BEGIN
      IF TG_OP = 'TRUNCATE' THEN
        UPDATE relayer_counts SET count = 0;
        DELETE FROM relayer_blocks;
        RETURN NULL;
      END IF;
      UPDATE relayer_counts
      SET count = count + CASE TG_OP WHEN 'INSERT' THEN 1 ELSE -1 END * (SELECT count(*) FROM changed)
      WHERE slot = pg_backend_pid() % 16;
      INSERT INTO relayer_blocks AS t
      SELECT seq >> 13, pg_backend_pid() % 16, CASE TG_OP WHEN 'INSERT' THEN 1 ELSE -1 END * count(*)
      FROM changed GROUP BY 1 ORDER BY 1
      ON CONFLICT (block, slot) DO UPDATE SET count = t.count + excluded.count;
      RETURN NULL;
    END $$`
})
