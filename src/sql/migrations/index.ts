// All migrations in their order, and how a database gets those that it lacks. The SQL of a released migration is never changed.
import { Effect } from "effect"
import { Migrator, SqlClient } from "effect/sql"
import baseline from "./0073_baseline.ts"
import claims from "./0076_claims.ts"
import privateRoutes from "./0079_private_routes.ts"
import topUps from "./0080_top_ups.ts"
import authorizations from "./0081_authorizations.ts"
import delegations from "./0082_delegations.ts"
import failedDeliveries from "./0083_failed_deliveries.ts"
import * as Former from "./Former.ts"
import type * as Migration from "./Migration.ts"

export { migrationsTable } from "./Former.ts"

export type Migrations = Readonly<Record<string, Migration.Migration>>

/** The baseline, then one file per change. The file of each declares whether it is compatible (`Migration.ts`). */
export const migrations: Migrations = {
  "0073_baseline": baseline,
  "0076_claims": claims,
  "0079_private_routes": privateRoutes,
  "0080_top_ups": topUps,
  "0081_authorizations": authorizations,
  "0082_delegations": delegations,
  "0083_failed_deliveries": failedDeliveries
}

const numberOf = (name: string): number => Number.parseInt(name, 10)

export const latestOf = (known: Migrations): number => Math.max(...Object.keys(known).map(numberOf))

/** The schema of this version. */
export const latestMigration = latestOf(migrations)

/** Whether a database with schema `version` lacks a migration beside which no earlier instance goes on. */
export const isIncompatible = (version: number, known = migrations): boolean =>
  Object.entries(known).some(([name, { isCompatible }]) => !isCompatible && numberOf(name) > version)

const raiseMark = (number: number) =>
  Effect.flatMap(
    SqlClient.SqlClient,
    (sql) => sql`UPDATE schema_mark SET oldest = greatest(oldest, ${number}::integer)`
  )

/** The baseline writes the mark itself. */
const effectOf = (number: number, { isCompatible, run }: Migration.Migration) =>
  isCompatible || number === Former.baseline
    ? Effect.asVoid(run)
    : Effect.asVoid(Effect.andThen(run, raiseMark(number)))

const applyOne = Effect.fnUntraced(function* (name: string, migration: Migration.Migration) {
  const sql = yield* SqlClient.SqlClient
  const number = numberOf(name)
  const row = { migration_id: number, name: name.slice(name.indexOf("_") + 1) }
  yield* sql`INSERT INTO ${sql(Former.migrationsTable)} ${sql.insert(row)}`
  yield* Effect.mapError(
    effectOf(number, migration),
    (cause) => new Migrator.MigrationError({ cause, kind: "Failed", message: `Migration "${name}" failed` })
  )
  return name
})

/** One caller at a time, until the transaction ends. It is taken before any lock of a table. */
export const exclusive = Effect.flatMap(
  SqlClient.SqlClient,
  (sql) => sql`SELECT pg_advisory_xact_lock(hashtextextended('effect-relayer migrations', 0))`
)

/** Earlier versions lock only the table. */
const lock = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  yield* exclusive
  if (!(yield* Former.isListed)) {
    yield* sql`
      CREATE TABLE ${sql(Former.migrationsTable)} (
        migration_id integer PRIMARY KEY,
        created_at timestamptz NOT NULL DEFAULT now(),
        name text NOT NULL
      )`
  }
  yield* sql`LOCK TABLE ${sql(Former.migrationsTable)} IN ACCESS EXCLUSIVE MODE`
})

export interface Options {
  /** Absent: all of `known`. */
  readonly last?: number
  /** Absent: those of this version. */
  readonly known?: Migrations
}

/**
 * Applies what is missing up to the schema `last`, in one transaction, and returns the names. Between two releases, a migration may land
 * after one with a larger number: a database of a commit between the two gets it as well.
 */
export const migrateTo = Effect.fnUntraced(function* ({ known = migrations, last = latestOf(known) }: Options = {}) {
  const sql = yield* SqlClient.SqlClient
  return yield* sql.withTransaction(
    Effect.gen(function* () {
      yield* lock
      const { isFormer, refusal } = yield* Former.standing
      if (refusal !== undefined) {
        return yield* new Migrator.MigrationError({ kind: "BadState", message: `the database ${refusal}` })
      }
      if (isFormer) {
        yield* Former.adopt
        yield* Effect.annotateLogs(Effect.logInfo("the baseline has replaced the migrations of the database"), {
          schema: Former.baseline
        })
      }
      const present = new Set((yield* Former.applied).map(({ id }) => id))
      // A newer version, whose own baseline made the schema: what it needs is there.
      if (present.size > 0 && !present.has(Former.baseline)) return []
      const missing = Object.entries(known).filter(([name]) => numberOf(name) <= last && !present.has(numberOf(name)))
      return yield* Effect.forEach(missing, ([name, migration]) => applyOne(name, migration))
    })
  )
})
