// Adds the route of a transaction, which says who gets its bytes, the sealed bytes of private ones, and the private RPC URLs of networks.
import { Effect } from "effect"
import { SqlClient } from "effect/sql"
import * as Migration from "./Migration.ts"

/** Bytes: version (1), key id (4), nonce (12) and tag (16). A shorter value is not sealed. */
const shortestSealed = 33

/**
 * An instance of an earlier version would send the bytes of a private transaction to everybody. Earlier versions refused private sends, so
 * that all rows before this are public.
 */
export default Migration.make(
  "incompatible",
  Effect.gen(function* () {
    const sql = yield* SqlClient.SqlClient
    // `fallback_after`: milliseconds at the chain's count after which a private transaction becomes public. `route_since`: as `Route.since`. `normal_estimates`: normal
    // providers may see its call.
    yield* sql`
      ALTER TABLE transactions
        ADD COLUMN route text NOT NULL DEFAULT 'public' CHECK (route IN ('public', 'private', 'fell_back')),
        ADD COLUMN fallback_after bigint CHECK (fallback_after > 0),
        ADD COLUMN route_since timestamptz,
        ADD COLUMN normal_estimates boolean NOT NULL DEFAULT false,
        ADD COLUMN seen_publicly_at timestamptz,
        ADD CONSTRAINT transactions_public_route_check
          CHECK (route <> 'public' OR (
            fallback_after IS NULL AND route_since IS NULL AND seen_publicly_at IS NULL AND NOT normal_estimates
          ))`
    // Signed bytes that only private providers get, as hex; `attempts.raw` is empty for them. `id`: the transaction and the ordinal. A table
    // of its own: a further column with the id of the master key would write all attempts anew.
    yield* sql`
      CREATE TABLE private_bytes (
        id text PRIMARY KEY,
        transaction_id uuid NOT NULL
          CONSTRAINT private_bytes_transaction_id_fkey REFERENCES transactions (id) ON DELETE CASCADE,
        ordinal integer NOT NULL,
        raw_sealed bytea NOT NULL,
        raw_sealed_key_id text GENERATED ALWAYS AS (
          CASE WHEN octet_length(raw_sealed) >= ${sql.literal(String(shortestSealed))}
            THEN encode(substring(raw_sealed FROM 2 FOR 4), 'hex') END
        ) STORED CONSTRAINT private_bytes_raw_sealed_key_id_fkey REFERENCES master_key (key_id),
        CONSTRAINT private_bytes_ordinal_key UNIQUE (transaction_id, ordinal)
      )`
    // Beside `rpc_urls_sealed`, with the id of its master key.
    yield* sql`
      ALTER TABLE networks
        ADD COLUMN private_rpc_urls_sealed bytea,
        ADD COLUMN private_rpc_urls_sealed_key_id text GENERATED ALWAYS AS (
          CASE WHEN octet_length(private_rpc_urls_sealed) >= ${sql.literal(String(shortestSealed))}
            THEN encode(substring(private_rpc_urls_sealed FROM 2 FOR 4), 'hex') END
        ) STORED CONSTRAINT networks_private_rpc_urls_sealed_key_id_fkey REFERENCES master_key (key_id)`
    // The same of relayers. `json` is the relayer as responses show it: it is made anew, with the new list among its fields.
    yield* sql`
      ALTER TABLE relayers
        ADD COLUMN custom_private_rpc_urls json,
        ADD COLUMN custom_private_rpc_urls_sealed bytea,
        ADD COLUMN custom_private_rpc_urls_sealed_key_id text GENERATED ALWAYS AS (
          CASE WHEN octet_length(custom_private_rpc_urls_sealed) >= ${sql.literal(String(shortestSealed))}
            THEN encode(substring(custom_private_rpc_urls_sealed FROM 2 FOR 4), 'hex') END
        ) STORED CONSTRAINT relayers_custom_private_rpc_urls_sealed_key_id_fkey REFERENCES master_key (key_id),
        DROP COLUMN json`
    yield* sql`
      ALTER TABLE relayers ADD COLUMN json text NOT NULL GENERATED ALWAYS AS (
        '{"id":"' || id || '","name":' || json_string(name) || ',"network":' || json_string(network)
        || ',"address":"' || address || '","paused":' || paused::text || ',"system_disabled":' || system_disabled::text
        || coalesce(',"disabled_reason":' || disabled_reason::text, '')
        || ',"signer_id":"' || signer_id || '"'
        || coalesce(',"notification_id":"' || notification_id || '"', '')
        || coalesce(',"custom_rpc_urls":' || custom_rpc_urls::text, '')
        || coalesce(',"custom_private_rpc_urls":' || custom_private_rpc_urls::text, '')
        || ',"network_type":"' || network_type || '"'
        || coalesce(',"policies":' || policies::text, '') || '}'
      ) STORED`
  })
)
