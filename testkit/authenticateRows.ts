// MACs for rows that a test or a benchmark inserts by SQL.
import { Effect, Layer, Redacted } from "effect"
import { SqlClient } from "effect/sql"
import { layerMasterKeyCheck } from "../src/server/masterKey/MasterKeys.ts"
import { authenticatedTables } from "../src/server/masterKey/ProtectedRowsRepo.ts"
import type { AuthenticatedTable } from "../src/server/masterKey/ProtectedRowsRepo.ts"
import { macOf, RowMacs, secretName, Secrets, ServiceSecrets } from "../src/server/secrets/Secrets.ts"
import * as TestApi from "./TestApi.ts"

/** What a service with this master key uses to authenticate rows. */
export const layer = (masterKey: Uint8Array = TestApi.masterKey) =>
  layerMasterKeyCheck.pipe(
    Layer.provideMerge(Layer.merge(RowMacs.layer, ServiceSecrets.layer)),
    Layer.provideMerge(Secrets.layer({ current: Redacted.make(masterKey) }))
  )

/** Rows that get their MACs with one statement. */
const batch = 500

const authenticateTable = Effect.fnUntraced(function* ({ content, table }: AuthenticatedTable, secret: string) {
  const sql = yield* SqlClient.SqlClient
  let after: string | undefined = ""
  while (after !== undefined) {
    const rows: ReadonlyArray<{ readonly id: string; readonly content: unknown }> = yield* sql<{
      readonly id: string
      readonly content: unknown
    }>`
      SELECT id, ${sql.literal(content)} AS content FROM ${sql(table)}
      WHERE mac IS NULL AND id > ${after} ORDER BY id LIMIT ${batch}`
    const macs = rows.map(({ id, content }) => macOf(secret, { table, id, content }))
    yield* sql`
      UPDATE ${sql(table)} t SET mac = given.mac
      FROM unnest(${rows.map(({ id }) => id)}::text[], ${macs}::text[]) given (id, mac) WHERE t.id = given.id`
    after = rows[batch - 1]?.id
  }
})

const authenticateAll = Effect.gen(function* () {
  const secret = yield* (yield* ServiceSecrets).get(secretName)
  yield* Effect.forEach(authenticatedTables, (table) => authenticateTable(table, secret), { discard: true })
}).pipe(Effect.orDie)

/** Gives the rows without a MAC the one that a service with this master key would have written. */
export const authenticateRows = (masterKey: Uint8Array = TestApi.masterKey) =>
  Effect.provide(authenticateAll, layer(masterKey), { local: true })
