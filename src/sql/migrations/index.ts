// All migrations in their order. The SQL of a released migration is never changed.
import { Effect, Record, Schema } from "effect"
import { Migrator, SqlClient } from "effect/sql"
import * as Rows from "../Rows.ts"
import * as Migration from "./Migration.ts"
import resources from "./0001_resources.ts"
import lifeCycle from "./0002_life_cycle.ts"
import envelope from "./0003_envelope.ts"
import access from "./0004_access.ts"
import knownKeys from "./0005_known_keys.ts"
import watch from "./0006_watch.ts"
import reading from "./0007_reading.ts"
import sharedSigners from "./0008_shared_signers.ts"
import unlinkedAudit from "./0009_unlinked_audit.ts"
import idempotencyClaims from "./0010_idempotency_claims.ts"
import keyCreators from "./0011_key_creators.ts"
import versions from "./0012_versions.ts"
import clientAddresses from "./0013_client_addresses.ts"
import records from "./0014_records.ts"
import transactions from "./0016_transactions.ts"
import transactionLimits from "./0017_transaction_limits.ts"
import rowMacs from "./0018_row_macs.ts"
import eventRelayers from "./0019_event_relayers.ts"
import feeLimits from "./0020_fee_limits.ts"
import polls from "./0021_polls.ts"
import dataFees from "./0022_data_fees.ts"
import remoteSigners from "./0023_remote_signers.ts"
import attemptHashes from "./0024_attempt_hashes.ts"
import insertions from "./0025_insertions.ts"
import feeLimitsPerNetwork from "./0026_fee_limits_per_network.ts"
import places from "./0027_places.ts"
import apiKeyVersions from "./0028_api_key_versions.ts"
import signaturesGiven from "./0029_signatures_given.ts"
import releasedChannels from "./0030_released_channels.ts"
import schemaMark from "./0031_schema_mark.ts"
import givenOffers from "./0038_given_offers.ts"
import solanaSignatures from "./0039_solana_signatures.ts"
import confirmedBy from "./0042_confirmed_by.ts"
import commands from "./0043_commands.ts"
import configurations from "./0045_configurations.ts"
import yields from "./0047_yields.ts"
import rechecks from "./0049_rechecks.ts"
import givenPlaces from "./0051_given_places.ts"
import consoleSessions from "./0057_console_sessions.ts"
import relayersInNeed from "./0058_relayers_in_need.ts"
import search from "./0059_search.ts"
import channelKeys from "./0062_channel_keys.ts"
import innerHashes from "./0063_inner_hashes.ts"
import restores from "./0064_restores.ts"
import landedByKey from "./0066_landed_by_key.ts"
import operators from "./0068_operators.ts"
import balances from "./0069_balances.ts"
import lighterWrites from "./0070_lighter_writes.ts"
import sponsoredBuilds from "./0071_sponsored_builds.ts"
import stellarHints from "./0072_stellar_hints.ts"
import transactionSums from "./0073_transaction_sums.ts"

/** Migrations from before the mark of the schema. Instances of their versions cannot see that they have to stop. */
const unmarked = {
  "0001_resources": resources,
  "0002_life_cycle": lifeCycle,
  "0003_envelope": envelope,
  "0004_access": access,
  "0005_known_keys": knownKeys,
  "0006_watch": watch,
  "0007_reading": reading,
  "0008_shared_signers": sharedSigners,
  "0009_unlinked_audit": unlinkedAudit,
  "0010_idempotency_claims": idempotencyClaims,
  "0011_key_creators": keyCreators,
  "0012_versions": versions,
  "0013_client_addresses": clientAddresses,
  "0014_records": records,
  "0016_transactions": transactions,
  "0017_transaction_limits": transactionLimits,
  "0018_row_macs": rowMacs,
  "0019_event_relayers": eventRelayers,
  "0020_fee_limits": feeLimits,
  "0021_polls": polls,
  "0022_data_fees": dataFees,
  "0023_remote_signers": remoteSigners,
  "0024_attempt_hashes": attemptHashes,
  "0025_insertions": insertions,
  "0026_fee_limits_per_network": feeLimitsPerNetwork,
  "0027_places": places,
  "0028_api_key_versions": apiKeyVersions,
  "0029_signatures_given": signaturesGiven,
  "0030_released_channels": releasedChannels
}

/** The file of each declares whether it is compatible (`Migration.ts`). */
const marked = {
  "0031_schema_mark": schemaMark,
  "0038_given_offers": givenOffers,
  "0039_solana_signatures": solanaSignatures,
  "0042_confirmed_by": confirmedBy,
  "0043_commands": commands,
  "0045_configurations": configurations,
  "0047_yields": yields,
  "0049_rechecks": rechecks,
  "0051_given_places": givenPlaces,
  "0057_console_sessions": consoleSessions,
  "0058_relayers_in_need": relayersInNeed,
  "0059_search": search,
  "0062_channel_keys": channelKeys,
  "0063_inner_hashes": innerHashes,
  "0064_restores": restores,
  "0066_landed_by_key": landedByKey,
  "0068_operators": operators,
  "0069_balances": balances,
  "0070_lighter_writes": lighterWrites,
  "0071_sponsored_builds": sponsoredBuilds,
  "0072_stellar_hints": stellarHints,
  "0073_transaction_sums": transactionSums
}

export const migrations: Readonly<Record<string, Migration.Migration>> = {
  ...Record.map(unmarked, (run) => Migration.make("incompatible", run)),
  ...marked
}

const numberOf = (name: string): number => Number.parseInt(name, 10)

/** Its own table, so that a host program can keep its migrations in the same database. */
export const migrationsTable = "effect_relayer_migrations"

/** The schema of this version. */
export const latestMigration = Math.max(...Object.keys(migrations).map(numberOf))

/** The migration that creates the mark of the schema. */
const firstMark = numberOf("0031_schema_mark")

const raiseMark = (number: number) =>
  Effect.flatMap(
    SqlClient.SqlClient,
    (sql) => sql`UPDATE schema_mark SET oldest = greatest(oldest, ${number}::integer)`
  )

const effectOf = (name: string, { isCompatible, run }: Migration.Migration) => {
  const number = numberOf(name)
  return isCompatible || number <= firstMark
    ? Effect.asVoid(run)
    : Effect.asVoid(Effect.andThen(run, raiseMark(number)))
}

/** Whether a database with schema `version` lacks a migration beside which no earlier instance goes on. */
export const isIncompatible = (version: number): boolean =>
  Object.entries(migrations).some(([name, { isCompatible }]) => !isCompatible && numberOf(name) > version)

const migrator = Migrator.make({})

type Applied = readonly [id: number, name: string]

const applyOne = Effect.fnUntraced(function* (name: string, migration: Migration.Migration) {
  const sql = yield* SqlClient.SqlClient
  const applied: Applied = [numberOf(name), name.slice(name.indexOf("_") + 1)]
  yield* sql`INSERT INTO ${sql(migrationsTable)} ${sql.insert({ migration_id: applied[0], name: applied[1] })}`
  yield* Effect.mapError(
    effectOf(name, migration),
    (cause) => new Migrator.MigrationError({ cause, kind: "Failed", message: `Migration "${name}" failed` })
  )
  return applied
})

const readNumbers = Rows.all(Schema.Struct({ id: Schema.Int }))

/**
 * The migrator leaves out every number below the largest one that a database has. Between two releases, a migration may land after one
 * with a larger number: databases of commits between the two lack it.
 */
const applySkipped = Effect.fnUntraced(function* (last: number) {
  const sql = yield* SqlClient.SqlClient
  const [table] = yield* sql`SELECT 1 WHERE to_regclass(${migrationsTable}) IS NOT NULL`
  if (table === undefined) return []
  yield* sql`LOCK TABLE ${sql(migrationsTable)} IN ACCESS EXCLUSIVE MODE`
  const rows = yield* readNumbers(yield* sql`SELECT migration_id AS id FROM ${sql(migrationsTable)}`)
  const present = new Set(rows.map(({ id }) => id))
  // A database without the mark is of a release, whose migrations are complete.
  if (!present.has(firstMark)) return []
  const below = Math.min(last, Math.max(...present))
  const isSkipped = (number: number) => number < below && !present.has(number)
  return yield* Effect.forEach(
    Object.entries(marked).filter(([name]) => isSkipped(numberOf(name))),
    ([name, migration]) => applyOne(name, migration)
  )
})

/** Applies what is missing up to the schema `last`, in one transaction. Absent: up to that of this version. */
export const migrateTo = Effect.fnUntraced(function* (last = latestMigration) {
  const sql = yield* SqlClient.SqlClient
  const skipped = yield* sql.withTransaction(applySkipped(last))
  const applied = yield* migrator({
    loader: Migrator.fromRecord(
      Record.map(
        Record.filter(migrations, (_, name) => numberOf(name) <= last),
        (migration, name) => effectOf(name, migration)
      )
    ),
    table: migrationsTable
  })
  return [...skipped, ...applied]
})
