// Creates the tables of events, deliveries and health checks.
import { Effect } from "effect"
import { SqlClient } from "effect/sql"

export default Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient

  // A reader sees the events of transactions that are older than every running one: below `xmin` of its snapshot. In the order of
  // `xid` and `id`, no event is inserted before one that a reader has seen.
  yield* sql`
    CREATE TABLE events (
      id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
      xid xid8 NOT NULL DEFAULT pg_current_xact_id(),
      at timestamptz NOT NULL DEFAULT clock_timestamp(),
      type text NOT NULL,
      resource_id text NOT NULL,
      request_id text,
      data json NOT NULL
    )`
  yield* sql`CREATE INDEX events_order_idx ON events (xid, id)`
  yield* sql`CREATE INDEX events_resource_idx ON events (resource_id, xid, id)`

  yield* sql`
    ALTER TABLE notifications
      ADD COLUMN previous_signing_key_sealed bytea,
      ADD COLUMN previous_signing_key_sealed_key_id text
        GENERATED ALWAYS AS (
          CASE WHEN octet_length(previous_signing_key_sealed) >= 33
            THEN encode(substring(previous_signing_key_sealed FROM 2 FOR 4), 'hex') END
        ) STORED
        CONSTRAINT notifications_previous_signing_key_sealed_key_id_fkey REFERENCES master_key (key_id),
      ADD COLUMN previous_signing_key_expires_at timestamptz,
      ADD COLUMN paused boolean NOT NULL DEFAULT false,
      ADD COLUMN failing_since timestamptz`

  // One row per event and notification. Only the first pending delivery of a `lane` is sent. `body` is signed byte for byte.
  // `next_attempt_at` is also the end of the lease of the instance that sends it, and `claim` identifies that claim. `failures` counts
  // since the delivery was last scheduled, `attempts` over its whole life. `once`: the delivery fails after one failed attempt.
  yield* sql`
    CREATE TABLE deliveries (
      id text PRIMARY KEY,
      seq bigint GENERATED ALWAYS AS IDENTITY CONSTRAINT deliveries_seq_key UNIQUE,
      notification_id text NOT NULL CONSTRAINT deliveries_notification_id_fkey REFERENCES notifications (id) ON DELETE CASCADE,
      event_id bigint CONSTRAINT deliveries_event_id_fkey REFERENCES events (id) ON DELETE CASCADE,
      lane text NOT NULL,
      event text NOT NULL,
      body text NOT NULL,
      state text NOT NULL DEFAULT 'pending' CHECK (state IN ('pending', 'delivered', 'failed')),
      attempts integer NOT NULL DEFAULT 0,
      failures integer NOT NULL DEFAULT 0,
      once boolean NOT NULL DEFAULT false,
      claim text,
      next_attempt_at timestamptz NOT NULL DEFAULT now(),
      give_up_at timestamptz NOT NULL DEFAULT now() + interval '24 hours',
      delivered_at timestamptz,
      created_at timestamptz NOT NULL DEFAULT now()
    )`
  yield* sql`CREATE INDEX deliveries_pending_idx ON deliveries (notification_id, lane, seq) WHERE state = 'pending'`
  yield* sql`CREATE INDEX deliveries_claimed_idx ON deliveries (notification_id, lane) WHERE claim IS NOT NULL`
  yield* sql`CREATE INDEX deliveries_give_up_idx ON deliveries (give_up_at) WHERE state = 'pending'`
  yield* sql`CREATE INDEX deliveries_notification_idx ON deliveries (notification_id, seq)`
  yield* sql`CREATE INDEX deliveries_created_at_idx ON deliveries (created_at)`
  yield* sql`CREATE INDEX deliveries_event_id_idx ON deliveries (event_id)`

  yield* sql`
    CREATE TABLE delivery_attempts (
      delivery_id text NOT NULL REFERENCES deliveries (id) ON DELETE CASCADE,
      attempt integer NOT NULL,
      at timestamptz NOT NULL,
      milliseconds integer NOT NULL,
      status smallint,
      outcome text NOT NULL,
      answer text,
      PRIMARY KEY (delivery_id, attempt)
    )`

  // `next_check_at` is also the end of the lease of a claimed check. `claimed_by` identifies the claim. `since` belongs to the status in
  // `state`, `read_at` to the balance in `reading`.
  yield* sql`
    CREATE TABLE relayer_checks (
      relayer_id text PRIMARY KEY CONSTRAINT relayer_checks_relayer_id_fkey REFERENCES relayers (id) ON DELETE CASCADE,
      next_check_at timestamptz NOT NULL DEFAULT now(),
      claimed_by text,
      state json NOT NULL DEFAULT '{"status":"unknown","told_degraded":false,"told_low":false}',
      since timestamptz,
      reading json,
      read_at timestamptz,
      checked_at timestamptz
    )`
  yield* sql`CREATE INDEX relayer_checks_due_idx ON relayer_checks (next_check_at)`
  yield* sql`INSERT INTO relayer_checks (relayer_id) SELECT id FROM relayers`
  yield* sql`
    CREATE FUNCTION relayer_checks_insert() RETURNS trigger LANGUAGE plpgsql AS $$
    BEGIN
      INSERT INTO relayer_checks (relayer_id) VALUES (NEW.id);
      RETURN NULL;
    END $$`
  yield* sql`
    CREATE TRIGGER relayer_checks_insert AFTER INSERT ON relayers
      FOR EACH ROW EXECUTE FUNCTION relayer_checks_insert()`

  // The policies or RPC URLs of a relayer changed: the result of a running check no longer counts, and the next check is due. A rotation of
  // the master key does not change `version`.
  yield* sql`
    CREATE FUNCTION relayer_checks_update() RETURNS trigger LANGUAGE plpgsql AS $$
    BEGIN
      UPDATE relayer_checks SET next_check_at = now(), claimed_by = NULL WHERE relayer_id = NEW.id;
      RETURN NULL;
    END $$`
  yield* sql`
    CREATE TRIGGER relayer_checks_update AFTER UPDATE OF version, policies, custom_rpc_urls_sealed ON relayers
      FOR EACH ROW WHEN (
        OLD.version <> NEW.version AND (OLD.policies, OLD.custom_rpc_urls_sealed)
          IS DISTINCT FROM (NEW.policies, NEW.custom_rpc_urls_sealed)
      ) EXECUTE FUNCTION relayer_checks_update()`
})
