// Makes insertions cheaper. Records of the audit log are inserted without a position and get one when they are linked: indexes by
// position leave out those without. Relayers of one statement get their rows in `relayer_checks` by one statement.
import { Effect } from "effect"
import { SqlClient } from "effect/sql"

export default Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient

  yield* sql`ALTER TABLE audit DROP CONSTRAINT audit_position_key`
  yield* sql`DROP INDEX audit_resource_idx, audit_key_id_idx`
  yield* sql`CREATE UNIQUE INDEX audit_position_key ON audit (position) WHERE position IS NOT NULL`
  yield* sql`CREATE INDEX audit_resource_idx ON audit (resource, resource_id, position) WHERE position IS NOT NULL`
  yield* sql`CREATE INDEX audit_key_id_idx ON audit (key_id, position) WHERE position IS NOT NULL`

  yield* sql`
    CREATE OR REPLACE FUNCTION relayer_checks_insert() RETURNS trigger LANGUAGE plpgsql AS $$
    BEGIN
      INSERT INTO relayer_checks (relayer_id) SELECT id FROM added ORDER BY seq;
      RETURN NULL;
    END $$`
  yield* sql`
    CREATE OR REPLACE TRIGGER relayer_checks_insert AFTER INSERT ON relayers
      REFERENCING NEW TABLE AS added FOR EACH STATEMENT EXECUTE FUNCTION relayer_checks_insert()`
})
