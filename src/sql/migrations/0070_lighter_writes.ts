// Makes writes smaller: of pending transactions, of relayers without a notification, and of links of the audit log.
import { Effect } from "effect"
import { SqlClient } from "effect/sql"
import * as Migration from "./Migration.ts"

export default Migration.make(
  "compatible",
  Effect.gen(function* () {
    const sql = yield* SqlClient.SqlClient

    // A pending transaction has no sequence, and all queries of this index name one.
    yield* sql`DROP INDEX transactions_nonce_key`
    yield* sql`
      CREATE UNIQUE INDEX transactions_nonce_key ON transactions ((coalesce(channel_id, lane_id)), generation, nonce)
        WHERE nonce IS NOT NULL`

    // Most relayers have no notification, and all queries of this index name one.
    yield* sql`DROP INDEX relayers_notification_id_idx`
    yield* sql`
      CREATE INDEX relayers_notification_id_idx ON relayers (notification_id) WHERE notification_id IS NOT NULL`

    // A trigger before the update locks each record that is linked, and each lock is written to the log. After it, none is needed.
    yield* sql`DROP TRIGGER audit_update ON audit`
    yield* sql`
      CREATE TRIGGER audit_update AFTER UPDATE ON audit
        FOR EACH ROW WHEN (OLD.position IS NOT NULL) EXECUTE FUNCTION audit_is_append_only()`
  })
)
