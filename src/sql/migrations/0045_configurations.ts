// Creates the tables of configurations, which own the objects that they have applied.
import { Effect } from "effect"
import { SqlClient } from "effect/sql"
import * as Migration from "./Migration.ts"

/** The tables of the kinds that a configuration contains. */
const owned = ["networks", "notifications", "signers", "relayers", "api_keys"]

export default Migration.make(
  "compatible",
  Effect.gen(function* () {
    const sql = yield* SqlClient.SqlClient

    // `key_ids` may apply the configuration: the keys that have, and the keys that they descend from.
    yield* sql`
    CREATE TABLE configurations (
      name text PRIMARY KEY,
      key_ids text[] NOT NULL,
      digest text NOT NULL,
      revision text,
      applied_at timestamptz NOT NULL,
      applied_by text NOT NULL
    )`

    // `applied` is the last applied form of the object, without secrets and URLs; `secrets_mac` has keyed hashes of these. The
    // columns are `json`, not `jsonb`, so that the same form is the same text.
    yield* sql`
    CREATE TABLE managed_objects (
      kind text NOT NULL,
      id text NOT NULL,
      configuration text NOT NULL CONSTRAINT managed_objects_configuration_fkey REFERENCES configurations (name),
      applied json NOT NULL,
      secrets_mac json NOT NULL,
      PRIMARY KEY (kind, id)
    )`
    yield* sql`CREATE INDEX managed_objects_configuration_idx ON managed_objects (configuration)`

    // A later object of the same id has no owner, also if an older instance deletes the object.
    yield* sql`
    CREATE FUNCTION managed_objects_delete() RETURNS trigger LANGUAGE plpgsql AS $$
    BEGIN
      DELETE FROM managed_objects WHERE kind = TG_ARGV[0] AND id = OLD.id;
      RETURN NULL;
    END $$`
    for (const table of owned) {
      yield* sql`
      CREATE TRIGGER ${sql(`${table}_managed_delete`)} AFTER DELETE ON ${sql(table)}
        FOR EACH ROW EXECUTE FUNCTION managed_objects_delete(${sql.literal(`'${table}'`)})`
    }
  })
)
