// Adds the route of a transaction, which says who gets its bytes, and the private RPC URLs of networks.
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
    // `fallback_after`: milliseconds at the chain's count after which a private transaction becomes public. `route_since`: as `Route.since`.
    yield* sql`
      ALTER TABLE transactions
        ADD COLUMN route text NOT NULL DEFAULT 'public' CHECK (route IN ('public', 'private', 'fell_back')),
        ADD COLUMN fallback_after bigint CHECK (fallback_after > 0),
        ADD COLUMN route_since timestamptz,
        ADD CONSTRAINT transactions_public_route_check
          CHECK (route <> 'public' OR (fallback_after IS NULL AND route_since IS NULL))`
    // Beside `rpc_urls_sealed`, with the id of its master key.
    yield* sql`
      ALTER TABLE networks
        ADD COLUMN private_rpc_urls_sealed bytea,
        ADD COLUMN private_rpc_urls_sealed_key_id text GENERATED ALWAYS AS (
          CASE WHEN octet_length(private_rpc_urls_sealed) >= ${sql.literal(String(shortestSealed))}
            THEN encode(substring(private_rpc_urls_sealed FROM 2 FOR 4), 'hex') END
        ) STORED CONSTRAINT networks_private_rpc_urls_sealed_key_id_fkey REFERENCES master_key (key_id)`
  })
)
