// A database for one test or one layer: a copy of the migrated template, dropped when the scope closes.
import { PgClient } from "@effect/sql-pg"
import { Effect, Layer } from "effect"
import { SqlClient } from "effect/sql"
import { randomBytes } from "node:crypto"
import { inject } from "vitest"
import { clientConfig, template } from "./Postgres.ts"

const onServer = <A, E>(use: Effect.Effect<A, E, SqlClient.SqlClient>) =>
  Effect.scoped(
    use.pipe(Effect.provide(PgClient.layer({ ...clientConfig(inject("postgres"), "postgres"), maxConnections: 1 })))
  )

/** Creates a copy and gives its name. */
export const make = Effect.acquireRelease(
  Effect.gen(function* () {
    const name = `test_${randomBytes(8).toString("hex")}`
    yield* onServer(
      Effect.flatMap(SqlClient.SqlClient, (sql) => sql`CREATE DATABASE ${sql(name)} TEMPLATE ${sql(template)}`)
    )
    return name
  }),
  (name) =>
    Effect.ignore(onServer(Effect.flatMap(SqlClient.SqlClient, (sql) => sql`DROP DATABASE ${sql(name)} WITH (FORCE)`)))
)

/** Creates a database without a schema and gives its name. */
export const makeEmpty = Effect.tap(make, (name) =>
  Effect.gen(function* () {
    const sql = yield* SqlClient.SqlClient
    yield* sql`DROP SCHEMA public CASCADE`
    yield* sql`CREATE SCHEMA public`
  }).pipe(
    Effect.provide(PgClient.layer({ ...clientConfig(inject("postgres"), name), maxConnections: 1 })),
    Effect.scoped
  )
)

/** The sessions have this name on the server; `effect-relayer` is the name of the service. */
export const layerNamed = (applicationName: string) =>
  Layer.unwrap(
    Effect.map(make, (name) => PgClient.layer({ ...clientConfig(inject("postgres"), name), applicationName }))
  )

export const layer = layerNamed("effect-relayer")
