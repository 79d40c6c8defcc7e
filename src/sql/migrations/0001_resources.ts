// Creates the tables of master keys, signers, notifications and relayers. `seq` is the order of creation, in which lists are sorted.
import { Effect } from "effect"
import { SqlClient } from "effect/sql"

export default Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient

  // One row that is sealed with the master key, so that a start with another key fails at once.
  yield* sql`
    CREATE TABLE master_key (
      id boolean PRIMARY KEY DEFAULT true CHECK (id),
      sealed bytea NOT NULL
    )`

  yield* sql`
    CREATE TABLE signers (
      id text PRIMARY KEY,
      seq bigint GENERATED ALWAYS AS IDENTITY CONSTRAINT signers_seq_key UNIQUE,
      type text NOT NULL,
      key_sealed bytea NOT NULL,
      evm_address text NOT NULL,
      solana_address text NOT NULL,
      stellar_address text NOT NULL,
      created_at timestamptz NOT NULL DEFAULT now()
    )`

  yield* sql`
    CREATE TABLE notifications (
      id text PRIMARY KEY,
      seq bigint GENERATED ALWAYS AS IDENTITY CONSTRAINT notifications_seq_key UNIQUE,
      type text NOT NULL,
      url text NOT NULL,
      signing_key_sealed bytea,
      created_at timestamptz NOT NULL DEFAULT now()
    )`

  // Amounts in `policies` keep all digits, because a number in jsonb is a numeric.
  // `custom_rpc_urls` has the masked URLs for responses, `custom_rpc_urls_sealed` the real URLs.
  yield* sql`
    CREATE TABLE relayers (
      id text PRIMARY KEY,
      seq bigint GENERATED ALWAYS AS IDENTITY CONSTRAINT relayers_seq_key UNIQUE,
      name text NOT NULL,
      network_type text NOT NULL CHECK (network_type IN ('evm', 'solana', 'stellar')),
      network text NOT NULL,
      address text NOT NULL,
      paused boolean NOT NULL,
      system_disabled boolean NOT NULL DEFAULT false,
      disabled_reason jsonb,
      signer_id text NOT NULL CONSTRAINT relayers_signer_id_fkey REFERENCES signers (id),
      notification_id text CONSTRAINT relayers_notification_id_fkey REFERENCES notifications (id),
      policies jsonb,
      custom_rpc_urls jsonb,
      custom_rpc_urls_sealed bytea,
      created_at timestamptz NOT NULL DEFAULT now(),
      CONSTRAINT relayers_signer_network_key UNIQUE (signer_id, network_type, network)
    )`

  yield* sql`CREATE INDEX relayers_notification_id_idx ON relayers (notification_id)`
})
