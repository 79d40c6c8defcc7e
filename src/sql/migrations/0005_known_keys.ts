// Every sealed value references the mark of its master key. So a mark cannot be deleted while a value needs its key, and a value that is
// sealed with a key without a mark is refused.
import { Effect } from "effect"
import { SqlClient } from "effect/sql"

const sealed = [
  ["signers", "key_sealed"],
  ["signers", "config_sealed"],
  ["notifications", "signing_key_sealed"],
  ["networks", "rpc_urls_sealed"],
  ["relayers", "custom_rpc_urls_sealed"],
  ["idempotency_keys", "body_sealed"],
  ["service_secrets", "sealed"]
] as const

/** Bytes: version (1), key id (4), nonce (12) and tag (16). A shorter value is not sealed. */
const shortest = 33

export default Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  for (const [table, column] of sealed) {
    yield* sql`
      ALTER TABLE ${sql(table)} ADD COLUMN ${sql(`${column}_key_id`)} text
        GENERATED ALWAYS AS (
          CASE WHEN octet_length(${sql(column)}) >= ${sql.literal(String(shortest))}
            THEN encode(substring(${sql(column)} FROM 2 FOR 4), 'hex') END
        ) STORED
        CONSTRAINT ${sql(`${table}_${column}_key_id_fkey`)} REFERENCES master_key (key_id)`
  }
})
