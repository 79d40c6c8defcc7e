// Databases from before the baseline: which of them this version takes over, and what it says about the others.
import { Effect, Schema } from "effect"
import { SqlClient } from "effect/sql"
import type { SqlError } from "effect/sql"
import * as Rows from "../Rows.ts"

/** Its own table, so that a host program can keep its migrations in the same database. */
export const migrationsTable = "effect_relayer_migrations"

/** The baseline has the number of the last migration that it replaced, because it makes the same schema. */
export const baseline = 73

const baselineName = "baseline"

/** The last commit of effect-relayer that reads databases and backups of earlier schemas. */
export const lastReader = "72fe4077"

/** The names of the migrations that the baseline replaced, by number. A database with exactly these has its schema. */
export const former: ReadonlyMap<number, string> = new Map([
  [1, "resources"],
  [2, "life_cycle"],
  [3, "envelope"],
  [4, "access"],
  [5, "known_keys"],
  [6, "watch"],
  [7, "reading"],
  [8, "shared_signers"],
  [9, "unlinked_audit"],
  [10, "idempotency_claims"],
  [11, "key_creators"],
  [12, "versions"],
  [13, "client_addresses"],
  [14, "records"],
  [16, "transactions"],
  [17, "transaction_limits"],
  [18, "row_macs"],
  [19, "event_relayers"],
  [20, "fee_limits"],
  [21, "polls"],
  [22, "data_fees"],
  [23, "remote_signers"],
  [24, "attempt_hashes"],
  [25, "insertions"],
  [26, "fee_limits_per_network"],
  [27, "places"],
  [28, "api_key_versions"],
  [29, "signatures_given"],
  [30, "released_channels"],
  [31, "schema_mark"],
  [38, "given_offers"],
  [39, "solana_signatures"],
  [42, "confirmed_by"],
  [43, "commands"],
  [45, "configurations"],
  [47, "yields"],
  [49, "rechecks"],
  [51, "given_places"],
  [57, "console_sessions"],
  [58, "relayers_in_need"],
  [59, "search"],
  [62, "channel_keys"],
  [63, "inner_hashes"],
  [64, "restores"],
  [66, "landed_by_key"],
  [68, "operators"],
  [69, "balances"],
  [70, "lighter_writes"],
  [71, "sponsored_builds"],
  [72, "stellar_hints"],
  [baseline, "transaction_sums"]
])

/**
 * Whether the database has a table of migrations. By a scan of the catalogue: `to_regclass` gives the answer that the session has cached,
 * although another session has made the table since.
 */
export const isListed = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  const found = yield* sql`
    SELECT 1 FROM pg_tables WHERE tablename = ${migrationsTable} AND schemaname = ANY(current_schemas(false))`
  return found.length > 0
})

const Applied = Schema.Struct({ id: Schema.Int, name: Schema.String })
type Applied = typeof Applied.Type

const readApplied = Rows.all(Applied)

/** The migrations that the database has. Its table of migrations has to exist. */
export const applied = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  return yield* readApplied(
    yield* sql`SELECT migration_id AS id, name FROM ${sql(migrationsTable)} ORDER BY migration_id`
  )
})

/** As a part of a sentence about a database or a backup. */
export const isTooOld = (schema: number): string =>
  `has schema ${schema}, and this version reads none before ${baseline}`

/** What an operator does with a database that this version does not read. */
export const remedy = `commit ${lastReader} of effect-relayer is the last one that does: back up, start that version on it once, then start this one; nothing was changed`

/** What an operator does with such a backup. */
export const remedyOfBackup = `commit ${lastReader} of effect-relayer is the last one that does: restore it with that version, start that version once, then start this one; nothing was changed`

/** Versions before the third format of sealed values wrote the mark of a master key in theirs. */
const firstFormat = 3

/** Why the secrets of a database or a backup cannot be read by this version, as a part of a sentence. Undefined: they can. */
export const olderSeals = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  const found = yield* sql`SELECT 1 FROM master_key WHERE get_byte(sealed, 0) < ${firstFormat}::int LIMIT 1`
  return found.length === 0
    ? undefined
    : "has secrets in a format that this version does not read, until effect-relayer rotate-key of an earlier version has sealed them again"
})

const isFormer = ({ id, name }: Applied) => former.get(id) === name

const nameOf = (id: number, name: string) => `${String(id).padStart(4, "0")}_${name}`

/**
 * What this version does with a database that has these migrations. `current`: it has the baseline, or nothing yet, or only migrations of
 * a later baseline. `former`: it has what the baseline replaced, and gets its mark. Otherwise the reason of a refusal.
 */
const standingOf = (list: ReadonlyArray<Applied>): "current" | "former" | { readonly refusal: string } => {
  const below = list.filter(({ id }) => id <= baseline)
  const unknown = below.filter((one) => !isFormer(one))
  if (below.length === unknown.length && unknown.every(({ id, name }) => id === baseline && name === baselineName)) {
    return "current"
  }
  const [first] = unknown
  if (first !== undefined) {
    return {
      refusal: `has the migration ${nameOf(first.id, first.name)}, which this version does not know: start the version that made it`
    }
  }
  if (below.length === former.size) return "former"
  const latest = Math.max(...below.map(({ id }) => id))
  if (latest < baseline) return { refusal: `${isTooOld(latest)}: ${remedy}` }
  const missing = [...former]
    .filter(([id]) => below.every((one) => one.id !== id))
    .map(([id, name]) => nameOf(id, name))
  return {
    refusal: `has schema ${latest} without ${missing.join(", ")}, and this version does not add what is missing below ${baseline}: ${remedy}`
  }
}

interface Standing {
  readonly isFormer: boolean
  /** Why this version does not work on the database. Undefined: it does. */
  readonly refusal: string | undefined
}

/** Writes nothing. The table of migrations has to exist. */
export const standing = Effect.gen(function* (): Effect.fn.Return<Standing, SqlError.SqlError, SqlClient.SqlClient> {
  const found = standingOf(yield* applied)
  if (found === "current") return { isFormer: false, refusal: undefined }
  if (found !== "former") return { isFormer: false, refusal: found.refusal }
  const older = yield* olderSeals
  return { isFormer: true, refusal: older === undefined ? undefined : `${older}: ${remedy}` }
})

/** The baseline takes the place of what it replaced, in the list of migrations only. */
export const adopt = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  yield* sql`DELETE FROM ${sql(migrationsTable)} WHERE migration_id <= ${baseline}`
  yield* sql`INSERT INTO ${sql(migrationsTable)} ${sql.insert({ migration_id: baseline, name: baselineName })}`
})
