// Prepares the deletion of old records: of the audit log up to a checkpoint, of events, and of the deliveries of a deleted notification.
import { Effect } from "effect"
import { SqlClient } from "effect/sql"

export default Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient

  // A checkpoint stands for all audit records up to its position. Once `pruned_at` is set, these records may be deleted, and the chain
  // begins after the checkpoint. `mac` is an HMAC of the other columns, so that only the service can write a checkpoint.
  yield* sql`
    CREATE TABLE audit_checkpoints (
      position bigint PRIMARY KEY,
      hash bytea NOT NULL,
      at timestamptz NOT NULL,
      mac bytea NOT NULL,
      pruned_at timestamptz
    )`
  yield* sql`
    CREATE OR REPLACE FUNCTION audit_is_append_only() RETURNS trigger LANGUAGE plpgsql AS $$
    BEGIN
      IF TG_OP = 'DELETE' THEN
        IF OLD.position <= (SELECT max(position) FROM audit_checkpoints WHERE pruned_at IS NOT NULL) THEN
          RETURN OLD;
        END IF;
      END IF;
      RAISE EXCEPTION 'rows of the audit log are never changed';
    END $$`
  yield* sql`
    CREATE TRIGGER audit_truncate BEFORE TRUNCATE ON audit
      FOR EACH STATEMENT EXECUTE FUNCTION audit_is_append_only()`

  // The position of the last event that was deleted because of its age. No row: none was deleted.
  yield* sql`
    CREATE TABLE events_pruned (
      singleton boolean PRIMARY KEY DEFAULT true CHECK (singleton),
      xid xid8 NOT NULL,
      id bigint NOT NULL
    )`

  // Deliveries belong to a notification by its sequence number, which is never used again. There is no foreign key: a notification is
  // deleted at once, and its deliveries, which nothing shows any more, afterwards in batches. Events are deleted without their deliveries.
  yield* sql`ALTER TABLE deliveries ADD COLUMN notification_seq bigint`
  yield* sql`
    UPDATE deliveries SET notification_seq = notifications.seq FROM notifications
    WHERE notifications.id = deliveries.notification_id`
  yield* sql`
    ALTER TABLE deliveries
      ALTER COLUMN notification_seq SET NOT NULL,
      DROP COLUMN notification_id,
      DROP CONSTRAINT deliveries_event_id_fkey`
  yield* sql`DROP INDEX deliveries_event_id_idx`
  yield* sql`CREATE INDEX deliveries_pending_idx ON deliveries (notification_seq, lane, seq) WHERE state = 'pending'`
  yield* sql`CREATE INDEX deliveries_claimed_idx ON deliveries (notification_seq, lane) WHERE claim IS NOT NULL`
  yield* sql`CREATE INDEX deliveries_notification_idx ON deliveries (notification_seq, seq)`
})
