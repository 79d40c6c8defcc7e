// The tables of what happened and who keeps it: audit log, events, deliveries, configurations, instances.
import type { SqlClient } from "effect/sql"

type Sql = SqlClient.SqlClient

const audit = (sql: Sql) => [
  // `position` and `hash` link the rows in an order in which they were committed. A row gets them soon after its commit. The columns are
  // `json`, not `jsonb`, because the hash is computed from the text.
  sql`
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
      position bigint,
      hash bytea,
      client_address text
    )`,
  // Unlinked records by `hash`, so that they can be counted even if `position` is damaged.
  sql`CREATE INDEX audit_unlinked_idx ON audit (id) WHERE hash IS NULL`,
  // Records are inserted without a position, and the other indexes leave those out, so that insertions are cheap.
  sql`CREATE UNIQUE INDEX audit_position_key ON audit (position) WHERE position IS NOT NULL`,
  sql`CREATE INDEX audit_resource_idx ON audit (resource, resource_id, position) WHERE position IS NOT NULL`,
  sql`CREATE INDEX audit_key_id_idx ON audit (key_id, position) WHERE position IS NOT NULL`,
  sql`
    CREATE INDEX audit_request_id_idx ON audit USING hash (request_id) WHERE position IS NOT NULL AND request_id IS NOT NULL`,
  // A checkpoint stands for all audit records up to its position. Once `pruned_at` is set, these records may be deleted, and the chain
  // begins after the checkpoint. `mac` is an HMAC of the other columns, so that only the service can write a checkpoint.
  sql`
    CREATE TABLE audit_checkpoints (
      position bigint PRIMARY KEY,
      hash bytea NOT NULL,
      at timestamptz NOT NULL,
      mac bytea NOT NULL,
      pruned_at timestamptz
    )`,
  sql`
    CREATE FUNCTION audit_is_append_only() RETURNS trigger LANGUAGE plpgsql AS $$
    BEGIN
      IF TG_OP = 'DELETE' THEN
        IF OLD.position <= (SELECT max(position) FROM audit_checkpoints WHERE pruned_at IS NOT NULL) THEN
          RETURN OLD;
        END IF;
      END IF;
      RAISE EXCEPTION 'rows of the audit log are never changed';
    END $$`,
  // A trigger before the update would lock each record that is linked, and each lock is written to the log. After it, none is needed.
  sql`
    CREATE TRIGGER audit_update AFTER UPDATE ON audit
      FOR EACH ROW WHEN (OLD.position IS NOT NULL) EXECUTE FUNCTION audit_is_append_only()`,
  sql`
    CREATE TRIGGER audit_delete BEFORE DELETE ON audit
      FOR EACH ROW EXECUTE FUNCTION audit_is_append_only()`,
  sql`
    CREATE TRIGGER audit_truncate BEFORE TRUNCATE ON audit
      FOR EACH STATEMENT EXECUTE FUNCTION audit_is_append_only()`
]

const events = (sql: Sql) => [
  // A reader sees the events of transactions that are older than every running one: below `xmin` of its snapshot. In the order of `xid` and
  // `id`, no event is inserted before one that a reader has seen. `relayer_id`: of an event about a transaction, so that an API key that is
  // limited to some relayers reads it. Events of relayers are found by `resource_id`.
  sql`
    CREATE TABLE events (
      id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
      xid xid8 NOT NULL DEFAULT pg_current_xact_id(),
      at timestamptz NOT NULL DEFAULT clock_timestamp(),
      type text NOT NULL,
      resource_id text NOT NULL,
      request_id text,
      data json NOT NULL,
      relayer_id text
    )`,
  sql`CREATE INDEX events_order_idx ON events (xid, id)`,
  sql`CREATE INDEX events_resource_idx ON events (resource_id, xid, id)`,
  sql`CREATE INDEX events_relayer_idx ON events (relayer_id, xid, id) WHERE relayer_id IS NOT NULL`,
  // The position of the last event that was deleted because of its age. No row: none was deleted.
  sql`
    CREATE TABLE events_pruned (
      singleton boolean PRIMARY KEY DEFAULT true CHECK (singleton),
      xid xid8 NOT NULL,
      id bigint NOT NULL
    )`
]

const deliveries = (sql: Sql) => [
  // One row per event and notification. Only the first pending delivery of a `lane` is sent. `body` is signed byte for byte.
  // `next_attempt_at` is also the end of the lease of the instance that sends it, and `claim` identifies that claim. `failures` counts
  // since the delivery was last scheduled, `attempts` over its whole life. `once`: the delivery fails after one failed attempt.
  // `notification_seq` is never used again, and there is no foreign key: a notification is deleted at once, and its deliveries, which nothing
  // shows any more, afterwards in batches. Events are deleted without their deliveries.
  sql`
    CREATE TABLE deliveries (
      id text PRIMARY KEY,
      seq bigint GENERATED ALWAYS AS IDENTITY CONSTRAINT deliveries_seq_key UNIQUE,
      event_id bigint,
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
      created_at timestamptz NOT NULL DEFAULT now(),
      notification_seq bigint NOT NULL
    )`,
  sql`CREATE INDEX deliveries_pending_idx ON deliveries (notification_seq, lane, seq) WHERE state = 'pending'`,
  sql`CREATE INDEX deliveries_claimed_idx ON deliveries (notification_seq, lane) WHERE claim IS NOT NULL`,
  sql`CREATE INDEX deliveries_give_up_idx ON deliveries (give_up_at) WHERE state = 'pending'`,
  sql`CREATE INDEX deliveries_notification_idx ON deliveries (notification_seq, seq)`,
  sql`CREATE INDEX deliveries_created_at_idx ON deliveries (created_at)`,
  sql`
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
]

/** The tables of the kinds that a configuration contains. */
const owned = ["networks", "notifications", "signers", "relayers", "api_keys"]

const configurations = (sql: Sql) => [
  // `key_ids` may apply the configuration: the keys that have, and the keys that they descend from.
  sql`
    CREATE TABLE configurations (
      name text PRIMARY KEY,
      key_ids text[] NOT NULL,
      digest text NOT NULL,
      revision text,
      applied_at timestamptz NOT NULL,
      applied_by text NOT NULL
    )`,
  // `applied` is the last applied form of the object, without secrets and URLs; `secrets_mac` has keyed hashes of these. The columns are
  // `json`, not `jsonb`, so that the same form is the same text.
  sql`
    CREATE TABLE managed_objects (
      kind text NOT NULL,
      id text NOT NULL,
      configuration text NOT NULL CONSTRAINT managed_objects_configuration_fkey REFERENCES configurations (name),
      applied json NOT NULL,
      secrets_mac json NOT NULL,
      PRIMARY KEY (kind, id)
    )`,
  sql`CREATE INDEX managed_objects_configuration_idx ON managed_objects (configuration)`,
  // A later object of the same id has no owner.
  sql`
    CREATE FUNCTION managed_objects_delete() RETURNS trigger LANGUAGE plpgsql AS $$
    BEGIN
      DELETE FROM managed_objects WHERE kind = TG_ARGV[0] AND id = OLD.id;
      RETURN NULL;
    END $$`,
  ...owned.map(
    (table) => sql`
    CREATE TRIGGER ${sql(`${table}_managed_delete`)} AFTER DELETE ON ${sql(table)}
      FOR EACH ROW EXECUTE FUNCTION managed_objects_delete(${sql.literal(`'${table}'`)})`
  )
]

const instances = (sql: Sql) => [
  // An instance writes its row every ten seconds and deletes it when it stops. `id` is the holder of its lanes.
  sql`
    CREATE TABLE instances (
      id uuid PRIMARY KEY,
      version text NOT NULL,
      jobs json NOT NULL,
      started_at timestamptz NOT NULL DEFAULT now(),
      last_seen_at timestamptz NOT NULL DEFAULT now()
    )`
]

/** Needs the tables of resources. */
export const records = (sql: Sql) => [audit, events, deliveries, configurations, instances].flatMap((part) => part(sql))
