// A disabled relayer is checked at once when a transaction of it is confirmed or need not wait for funds any more: its account has funds.
import { Effect } from "effect"
import { SqlClient } from "effect/sql"
import * as Migration from "./Migration.ts"

export default Migration.make(
  "compatible",
  Effect.gen(function* () {
    const sql = yield* SqlClient.SqlClient

    // A check that is locked or claimed runs at this moment. It is skipped, so that the lane waits for nothing.
    yield* sql`
      CREATE FUNCTION relayer_checks_funded() RETURNS trigger LANGUAGE plpgsql AS $$
      BEGIN
        UPDATE relayer_checks SET next_check_at = now() WHERE relayer_id IN (
          SELECT c.relayer_id FROM relayer_checks c
          JOIN relayers r ON r.id = c.relayer_id AND r.seq = NEW.relayer_number AND r.system_disabled
          WHERE c.relayer_id = NEW.relayer_id AND c.claimed_by IS NULL AND c.next_check_at > now()
          FOR UPDATE OF c SKIP LOCKED
        );
        RETURN NULL;
      END
      $$`
    yield* sql`
      CREATE TRIGGER relayer_checks_funded AFTER UPDATE OF state, code ON transactions FOR EACH ROW
      WHEN (
        (NEW.state = 'confirmed' AND OLD.state <> 'confirmed')
        OR (OLD.code = 'insufficient_funds' AND NEW.code IS DISTINCT FROM OLD.code)
      )
      EXECUTE FUNCTION relayer_checks_funded()`
  })
)
