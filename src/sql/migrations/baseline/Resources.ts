// The tables of what callers create, and of what the service keeps about it: secrets, signers, notifications, networks, relayers, API keys.
import type { SqlClient } from "effect/sql"

type Sql = SqlClient.SqlClient

/** Bytes: version (1), key id (4), nonce (12) and tag (16). A shorter value is not sealed. */
const shortestSealed = 33

/**
 * The master key of a sealed value, which has to have a mark. So a mark cannot be deleted while a value needs its key, and a value that
 * is sealed with a key without a mark is refused.
 */
const keyId = (sql: Sql, table: string, column: string) =>
  sql.literal(`${column}_key_id text GENERATED ALWAYS AS (
        CASE WHEN octet_length(${column}) >= ${shortestSealed} THEN encode(substring(${column} FROM 2 FOR 4), 'hex') END
      ) STORED CONSTRAINT ${table}_${column}_key_id_fkey REFERENCES master_key (key_id)`)

const secrets = (sql: Sql) => [
  // A row per master key that may have sealed a secret, so that a start without one of them fails at once. `sealed` is a known text, sealed
  // with the key whose id (4 bytes, in hex) is `key_id`. The id follows the format version.
  sql`
    CREATE TABLE master_key (
      sealed bytea NOT NULL,
      key_id text PRIMARY KEY,
      CONSTRAINT master_key_key_id_check CHECK (key_id = encode(substring(sealed FROM 2 FOR 4), 'hex'))
    )`,
  // Random secrets that the service makes for itself.
  sql`
    CREATE TABLE service_secrets (
      name text PRIMARY KEY,
      sealed bytea NOT NULL,
      ${keyId(sql, "service_secrets", "sealed")}
    )`
]

const signers = (sql: Sql) => [
  // `seq` is the order of creation, in which lists are sorted. `config` has the fields of the configuration that responses show,
  // `config_sealed` its secrets. A key that stays in a key service has a curve and a pinned public key. `mac` authenticates the columns that
  // direct how the secret is used: an HMAC-SHA-256 as base64url, without which the row is refused.
  sql`
    CREATE TABLE signers (
      id text PRIMARY KEY,
      seq bigint GENERATED ALWAYS AS IDENTITY CONSTRAINT signers_seq_key UNIQUE,
      type text NOT NULL,
      key_sealed bytea,
      evm_address text,
      solana_address text,
      stellar_address text,
      created_at timestamptz NOT NULL DEFAULT now(),
      config jsonb NOT NULL DEFAULT '{}',
      config_sealed bytea,
      ${keyId(sql, "signers", "key_sealed")},
      ${keyId(sql, "signers", "config_sealed")},
      mac text,
      curve text,
      public_key text CONSTRAINT signers_public_key_key UNIQUE,
      disabled_reason jsonb,
      CONSTRAINT signers_curve_check CHECK ((curve IS NULL) = (public_key IS NULL))
    )`,
  // The keys of channels. A separate table, because lanes have numbers as ids, and a sealed value is bound to a text. A key is never
  // deleted: its account can still exist.
  sql`
    CREATE TABLE channel_keys (
      address text PRIMARY KEY,
      key_sealed bytea NOT NULL,
      ${keyId(sql, "channel_keys", "key_sealed")}
    )`
]

const notifications = (sql: Sql) => [
  // `version` counts the changes, for entity tags and `If-Match`.
  sql`
    CREATE TABLE notifications (
      id text PRIMARY KEY,
      seq bigint GENERATED ALWAYS AS IDENTITY CONSTRAINT notifications_seq_key UNIQUE,
      type text NOT NULL,
      url text NOT NULL,
      signing_key_sealed bytea,
      created_at timestamptz NOT NULL DEFAULT now(),
      ${keyId(sql, "notifications", "signing_key_sealed")},
      previous_signing_key_sealed bytea,
      ${keyId(sql, "notifications", "previous_signing_key_sealed")},
      previous_signing_key_expires_at timestamptz,
      paused boolean NOT NULL DEFAULT false,
      failing_since timestamptz,
      version integer NOT NULL DEFAULT 1
    )`
]

const networks = (sql: Sql) => [
  // A row is a custom network, or a change of a built-in network. `definition` has its own fields without inherited ones. `parent_id` is
  // set if the parent is a custom network. `mac` is as in `signers`.
  sql`
    CREATE TABLE networks (
      id text PRIMARY KEY,
      seq bigint GENERATED ALWAYS AS IDENTITY CONSTRAINT networks_seq_key UNIQUE,
      parent_id text CONSTRAINT networks_parent_id_fkey REFERENCES networks (id),
      definition jsonb NOT NULL,
      rpc_urls_sealed bytea,
      created_at timestamptz NOT NULL DEFAULT now(),
      ${keyId(sql, "networks", "rpc_urls_sealed")},
      version integer NOT NULL DEFAULT 1,
      mac text
    )`
]

const relayers = (sql: Sql) => [
  // `to_json` is not immutable because some types depend on settings. The type text does not.
  sql`
    CREATE FUNCTION json_string(value text) RETURNS text LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE
      RETURN to_json(value)::text`,
  // Several relayers may use one signer on one network. `custom_rpc_urls` has the masked URLs for responses, `custom_rpc_urls_sealed` the
  // real ones. `own_network_id` is set if the network is a custom one. `mac` is as in `signers`. `json` is the relayer as responses show it:
  // its fields have the order of `Relayer` in `domain/relayer/Relayer.ts`, which `test/server/relayers/RelayerJson.test.ts` compares. Ids,
  // types and addresses need no escapes. A column of the type json keeps all digits of amounts, and the text as it was written.
  sql`
    CREATE TABLE relayers (
      id text PRIMARY KEY,
      seq bigint GENERATED ALWAYS AS IDENTITY CONSTRAINT relayers_seq_key UNIQUE,
      name text NOT NULL,
      network_type text NOT NULL CHECK (network_type IN ('evm', 'solana', 'stellar')),
      network text NOT NULL,
      address text NOT NULL,
      paused boolean NOT NULL,
      system_disabled boolean NOT NULL DEFAULT false,
      disabled_reason json,
      signer_id text NOT NULL CONSTRAINT relayers_signer_id_fkey REFERENCES signers (id),
      notification_id text CONSTRAINT relayers_notification_id_fkey REFERENCES notifications (id),
      policies json,
      custom_rpc_urls json,
      custom_rpc_urls_sealed bytea,
      created_at timestamptz NOT NULL DEFAULT now(),
      version integer NOT NULL DEFAULT 1,
      own_network_id text CONSTRAINT relayers_own_network_id_fkey REFERENCES networks (id),
      ${keyId(sql, "relayers", "custom_rpc_urls_sealed")},
      json text NOT NULL GENERATED ALWAYS AS (
        '{"id":"' || id || '","name":' || json_string(name) || ',"network":' || json_string(network)
        || ',"address":"' || address || '","paused":' || paused::text || ',"system_disabled":' || system_disabled::text
        || coalesce(',"disabled_reason":' || disabled_reason::text, '')
        || ',"signer_id":"' || signer_id || '"'
        || coalesce(',"notification_id":"' || notification_id || '"', '')
        || coalesce(',"custom_rpc_urls":' || custom_rpc_urls::text, '')
        || ',"network_type":"' || network_type || '"'
        || coalesce(',"policies":' || policies::text, '') || '}'
      ) STORED,
      mac text
    )`,
  sql`CREATE INDEX relayers_name_idx ON relayers (name COLLATE "C", seq)`,
  sql`CREATE INDEX relayers_network_idx ON relayers (network_type, network, seq)`,
  sql`CREATE INDEX relayers_own_network_id_idx ON relayers (own_network_id) WHERE own_network_id IS NOT NULL`,
  sql`CREATE INDEX relayers_paused_idx ON relayers (seq) WHERE paused`,
  sql`CREATE INDEX relayers_system_disabled_idx ON relayers (seq) WHERE system_disabled`,
  // The relayers of a signer: for the filter of lists, and for the foreign key when a signer is deleted.
  sql`CREATE INDEX relayers_signer_id_idx ON relayers (signer_id, seq)`,
  // Most relayers have no notification, and all queries of this index name one.
  sql`CREATE INDEX relayers_notification_id_idx ON relayers (notification_id) WHERE notification_id IS NOT NULL`,
  sql`CREATE INDEX relayers_address_idx ON relayers USING hash (address)`,
  sql`
    CREATE INDEX relayers_channels_idx ON relayers (id)
      WHERE network_type = 'stellar' AND (policies -> 'channels') IS NOT NULL`,
  // Stellar accounts by the letters of their addresses that the hint of a signature has: 48 to 52, counted from 1 as SQL does. `hintLetters`
  // in `StellarLibrary.ts` counts from 0.
  sql`CREATE INDEX relayers_hint_idx ON relayers (substr(address, 48, 5)) WHERE network_type = 'stellar'`
]

const relayerCounts = (sql: Sql) => [
  // The number of relayers, updated in the transaction that changes it. Each connection updates one of 16 rows, so that writers rarely wait
  // for each other.
  sql`
    CREATE TABLE relayer_counts (
      slot smallint PRIMARY KEY,
      count bigint NOT NULL
    ) WITH (fillfactor = 10)`,
  sql`INSERT INTO relayer_counts SELECT slot, 0 FROM generate_series(0, 15) slot`,
  // The number of relayers per 8192 sequence numbers, so that a page far down the list is found without reading the rows before it. Each
  // block has up to 16 rows, because all creates count in the last block and would wait for each other.
  sql`
    CREATE TABLE relayer_blocks (
      block bigint,
      slot smallint,
      count bigint NOT NULL,
      PRIMARY KEY (block, slot)
    ) WITH (fillfactor = 50)`,
  sql`
    CREATE FUNCTION relayer_counts_update() RETURNS trigger LANGUAGE plpgsql AS $$
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
    END $$`,
  sql`
    CREATE TRIGGER relayer_counts_insert AFTER INSERT ON relayers
      REFERENCING NEW TABLE AS changed FOR EACH STATEMENT EXECUTE FUNCTION relayer_counts_update()`,
  sql`
    CREATE TRIGGER relayer_counts_delete AFTER DELETE ON relayers
      REFERENCING OLD TABLE AS changed FOR EACH STATEMENT EXECUTE FUNCTION relayer_counts_update()`,
  sql`
    CREATE TRIGGER relayer_counts_truncate AFTER TRUNCATE ON relayers
      FOR EACH STATEMENT EXECUTE FUNCTION relayer_counts_update()`
]

const relayerChecks = (sql: Sql) => [
  // `next_check_at` is also the end of the lease of a claimed check. `claimed_by` identifies the claim. `since` belongs to the status in
  // `state`, `read_at` to the balance in `reading`.
  sql`
    CREATE TABLE relayer_checks (
      relayer_id text PRIMARY KEY CONSTRAINT relayer_checks_relayer_id_fkey REFERENCES relayers (id) ON DELETE CASCADE,
      next_check_at timestamptz NOT NULL DEFAULT now(),
      claimed_by text,
      state json NOT NULL DEFAULT '{"status":"unknown","told_degraded":false,"told_low":false}',
      since timestamptz,
      reading json,
      read_at timestamptz,
      checked_at timestamptz
    )`,
  sql`CREATE INDEX relayer_checks_due_idx ON relayer_checks (next_check_at)`,
  // Relayers whose last check did not find everything well. `AttentionRepo.checks` has the same condition.
  sql`
    CREATE INDEX relayer_checks_need_idx ON relayer_checks (relayer_id)
      WHERE (state ->> 'status') IN ('degraded', 'failing', 'disabled') OR (state ->> 'told_low') = 'true'`,
  // Relayers of one statement get their rows by one statement.
  sql`
    CREATE FUNCTION relayer_checks_insert() RETURNS trigger LANGUAGE plpgsql AS $$
    BEGIN
      INSERT INTO relayer_checks (relayer_id) SELECT id FROM added ORDER BY seq;
      RETURN NULL;
    END $$`,
  sql`
    CREATE TRIGGER relayer_checks_insert AFTER INSERT ON relayers
      REFERENCING NEW TABLE AS added FOR EACH STATEMENT EXECUTE FUNCTION relayer_checks_insert()`,
  // The policies or RPC URLs of a relayer changed: the result of a running check no longer counts, and the next check is due. A rotation of
  // the master key does not change `version`.
  sql`
    CREATE FUNCTION relayer_checks_update() RETURNS trigger LANGUAGE plpgsql AS $$
    BEGIN
      UPDATE relayer_checks SET next_check_at = now(), claimed_by = NULL WHERE relayer_id = NEW.id;
      RETURN NULL;
    END $$`,
  sql`
    CREATE TRIGGER relayer_checks_update AFTER UPDATE OF version, policies, custom_rpc_urls_sealed ON relayers
      FOR EACH ROW WHEN (
        OLD.version <> NEW.version AND (OLD.policies::text, OLD.custom_rpc_urls_sealed)
          IS DISTINCT FROM (NEW.policies::text, NEW.custom_rpc_urls_sealed)
      ) EXECUTE FUNCTION relayer_checks_update()`,
  // The last balance that a check read in the hour that begins `at`. If an hour has no row, it has the balance of the row before.
  sql`
    CREATE TABLE relayer_balances (
      relayer_id text NOT NULL CONSTRAINT relayer_balances_relayer_id_fkey REFERENCES relayers (id) ON DELETE CASCADE,
      at timestamptz NOT NULL,
      balance numeric(78) NOT NULL CHECK (balance >= 0),
      PRIMARY KEY (relayer_id, at)
    )`,
  sql`CREATE INDEX relayer_balances_at_idx ON relayer_balances (at)`
]

const access = (sql: Sql) => [
  // Only the SHA-256 of a key is stored. `previous_hash` belongs to the key before the last rotation. `created_by` is the id of the caller;
  // it is null for keys that are older than this column. `ancestors` are the API keys from the first one down to the creator, so that the
  // descendants of a revoked key are still found.
  sql`
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
      created_at timestamptz NOT NULL DEFAULT now(),
      created_by text,
      ancestors text[] NOT NULL DEFAULT '{}',
      transaction_limits jsonb,
      version integer NOT NULL DEFAULT 1
    )`,
  sql`CREATE INDEX api_keys_ancestors_idx ON api_keys USING gin (ancestors)`,
  sql`CREATE INDEX api_keys_created_by_idx ON api_keys (created_by)`,
  // Rows stay when a key is deleted: what it has spent still counts for its creators.
  sql`
    CREATE TABLE api_key_descendants (
      ancestor text NOT NULL,
      id text NOT NULL,
      PRIMARY KEY (ancestor, id)
    )`,
  // The limits of fees per day, in the smallest unit of the network type. Rows stay when a key is deleted: a deleted key does not lift the
  // limit of what it has sent. The row is locked while fees are summed; a lock on the row of the key would wait for each note of its use.
  sql`
    CREATE TABLE api_key_fee_limits (
      key_id text NOT NULL,
      maximum numeric NOT NULL,
      network_type text NOT NULL,
      CONSTRAINT api_key_fee_limits_pkey PRIMARY KEY (key_id, network_type)
    )`,
  // `id` is a part of the hash of the cookie. `binding` is a hash of the cookie and of the key's value.
  sql`
    CREATE TABLE console_sessions (
      id text PRIMARY KEY,
      proof_hash bytea NOT NULL,
      binding bytea NOT NULL,
      key_id text NOT NULL,
      read_only boolean NOT NULL,
      created_at timestamptz NOT NULL,
      last_used_at timestamptz NOT NULL,
      expires_at timestamptz NOT NULL,
      address text,
      browser text
    )`,
  sql`CREATE INDEX console_sessions_key_idx ON console_sessions (key_id, created_at)`,
  sql`CREATE INDEX console_sessions_expires_idx ON console_sessions (expires_at)`,
  // A row with a response means that the request took effect: it is written in the transaction of the request. `id` is the SHA-256 of the
  // caller and the key, in hex. A request that works outside of the database claims its key first: a row without a response.
  sql`
    CREATE TABLE idempotency_keys (
      id text PRIMARY KEY,
      request_hash bytea NOT NULL,
      status smallint,
      headers jsonb,
      body_sealed bytea,
      created_at timestamptz NOT NULL DEFAULT now(),
      ${keyId(sql, "idempotency_keys", "body_sealed")},
      claim uuid,
      claimed_until timestamptz,
      CONSTRAINT idempotency_keys_claim_check CHECK (
        CASE WHEN claim IS NULL
          THEN claimed_until IS NULL AND num_nulls(status, headers, body_sealed) = 0
          ELSE claimed_until IS NOT NULL AND num_nonnulls(status, headers, body_sealed) = 0
        END
      )
    )`,
  sql`CREATE INDEX idempotency_keys_created_at_idx ON idempotency_keys (created_at)`
]

/** In the order in which they reference each other. */
export const resources = (sql: Sql) =>
  [secrets, signers, notifications, networks, relayers, relayerCounts, relayerChecks, access].flatMap((part) =>
    part(sql)
  )
