// The ordered record. A migration that has been released is never edited.
import resources from "./0001_resources.ts"

export const migrations = {
  "0001_resources": resources
}

/** Our own, so that a host may keep its migrations in the same database. */
export const migrationsTable = "effect_relayer_migrations"

/** The schema that this code works on. */
export const latestMigration = Math.max(...Object.keys(migrations).map((name) => Number.parseInt(name, 10)))
