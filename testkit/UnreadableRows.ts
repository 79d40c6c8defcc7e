// Rows that cannot be verified, as the two causes leave them in a database.
import { Effect } from "effect"
import { SqlClient } from "effect/sql"
import { createHmac } from "node:crypto"
import { authenticatedTables } from "../src/server/masterKey/ProtectedRowsRepo.ts"
import { canonicalJson } from "../src/server/secrets/Secrets.ts"

/** Gives rows the MACs that they had if their secret was lost: all rows of the table, or one. */
export const loseSecret = Effect.fnUntraced(function* (table: string, id?: string) {
  const sql = yield* SqlClient.SqlClient
  const content = authenticatedTables.find((one) => one.table === table)?.content ?? "NULL"
  const rows = yield* sql<{ readonly id: string; readonly content: unknown }>`
    SELECT id, ${sql.literal(content)} AS content FROM ${sql(table)} WHERE ${id === undefined ? sql`true` : sql`id = ${id}`}`
  for (const row of rows) {
    const mac = createHmac("sha256", "a secret that was rolled back")
      .update(canonicalJson([table, row.id, row.content]))
      .digest("base64url")
    yield* sql`UPDATE ${sql(table)} SET mac = ${mac} WHERE id = ${row.id}`
  }
})

/** The same for all rows, which were then written before the secret that the database has. */
export const loseEarlierSecret = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  for (const { table } of authenticatedTables) yield* loseSecret(table)
  yield* sql`UPDATE service_secrets SET name = name`
})
