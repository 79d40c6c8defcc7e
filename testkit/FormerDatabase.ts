// Databases as versions before the baseline left them: the same tables, with the list of the migrations that the baseline replaced.
import { Effect } from "effect"
import { SqlClient } from "effect/sql"
import { baseline, former, migrationsTable } from "../src/sql/migrations/Former.ts"
import { migrations } from "../src/sql/migrations/index.ts"

/** The migrations after the baseline: a database of this version has their tables. */
const later = Object.keys(migrations).flatMap((name): ReadonlyArray<readonly [number, string]> => {
  const number = Number.parseInt(name, 10)
  return number > baseline ? [[number, name.slice(name.indexOf("_") + 1)]] : []
})

/** The list of migrations of the database, as `[number, name]`. */
export const list = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  const rows = yield* sql<{ readonly id: number; readonly name: string }>`
    SELECT migration_id AS id, name FROM ${sql(migrationsTable)} ORDER BY migration_id`
  return rows.map(({ id, name }) => [id, name] as const)
})

/** Replaces the list of migrations by `given`. Absent: all that the baseline replaced. */
export const makeList = Effect.fnUntraced(function* (given: Iterable<readonly [number, string]> = former) {
  const sql = yield* SqlClient.SqlClient
  yield* sql`DELETE FROM ${sql(migrationsTable)}`
  for (const [migration_id, name] of given) {
    yield* sql`INSERT INTO ${sql(migrationsTable)} ${sql.insert({ migration_id, name })}`
  }
})

/** A database of this version, as if the baseline had not made it. */
export const make = makeList([...former, ...later])

export const isTakenOver = Effect.map(
  list,
  (rows) => JSON.stringify(rows) === JSON.stringify([[baseline, "baseline"], ...later])
)
