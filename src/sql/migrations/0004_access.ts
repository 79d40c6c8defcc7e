// Creates the tables of API keys, stored responses for idempotency keys, secrets of the service, and the audit log.
import { Effect } from "effect"
import { SqlClient } from "effect/sql"

export default Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient

  // Only the SHA-256 of a key is stored. `previous_hash` belongs to the key before the last rotation.
  yield* sql`
    CREATE TABLE api_keys (
      id text PRIMARY KEY,
      seq bigint GENERATED ALWAYS AS IDENTITY CONSTRAINT api_keys_seq_key UNIQUE,
      name text NOT NULL,
      hash bytea NOT NULL CONSTRAINT api_keys_hash_key UNIQUE,
      previous_hash bytea CONSTRAINT api_keys_previous_hash_key UNIQUE,
      previous_expires_at timestamptz,
      scopes text[] NOT NULL,
      relayer_ids text[],
      expires_at timestamptz,
      last_used_at timestamptz,
      last_used_from text,
      created_at timestamptz NOT NULL DEFAULT now()
    )`

  // A row means that the request took effect: it is written in the transaction of the request. `id` is the SHA-256 of the caller
  // and the key, in hex.
  yield* sql`
    CREATE TABLE idempotency_keys (
      id text PRIMARY KEY,
      request_hash bytea NOT NULL,
      status smallint NOT NULL,
      headers jsonb NOT NULL,
      body_sealed bytea NOT NULL,
      created_at timestamptz NOT NULL DEFAULT now()
    )`
  yield* sql`CREATE INDEX idempotency_keys_created_at_idx ON idempotency_keys (created_at)`

  // Random secrets that the service makes for itself.
  yield* sql`
    CREATE TABLE service_secrets (
      name text PRIMARY KEY,
      sealed bytea NOT NULL
    )`

  // `position` and `hash` link the rows in an order in which they were committed. A row gets them soon after its commit. The columns are
  // `json`, not `jsonb`, because the hash is computed from the text.
  yield* sql`
    CREATE TABLE audit (
      id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
      at timestamptz NOT NULL DEFAULT clock_timestamp(),
      key_id text NOT NULL,
      action text NOT NULL,
      resource text NOT NULL,
      resource_id text NOT NULL,
      request_id text,
      before json,
      after json,
      position bigint CONSTRAINT audit_position_key UNIQUE,
      hash bytea
    )`
  yield* sql`CREATE INDEX audit_unlinked_idx ON audit (id) WHERE position IS NULL`
  yield* sql`CREATE INDEX audit_resource_idx ON audit (resource, resource_id, position)`
  yield* sql`CREATE INDEX audit_key_id_idx ON audit (key_id, position)`
  yield* sql`
    CREATE FUNCTION audit_is_append_only() RETURNS trigger LANGUAGE plpgsql AS $$
    BEGIN
      RAISE EXCEPTION 'rows of the audit log are never changed';
    END $$`
  yield* sql`
    CREATE TRIGGER audit_update BEFORE UPDATE ON audit
      FOR EACH ROW WHEN (OLD.position IS NOT NULL) EXECUTE FUNCTION audit_is_append_only()`
  yield* sql`
    CREATE TRIGGER audit_delete BEFORE DELETE ON audit
      FOR EACH ROW EXECUTE FUNCTION audit_is_append_only()`
})
