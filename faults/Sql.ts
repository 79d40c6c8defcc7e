// A database session of the harness beside the service.
import { PgClient } from "@effect/sql-pg"
import { Effect, Layer } from "effect"
import { SqlClient } from "effect/sql"

/** Runs `use` on one connection. Failures are defects. */
export const on = <A, E, R>(config: PgClient.PgPoolConfig, use: Effect.Effect<A, E, R | SqlClient.SqlClient>) =>
  use.pipe(Effect.provide(Layer.fresh(PgClient.layer({ ...config, maxConnections: 1 }))), Effect.orDie)

/** Runs statements without parameters, such as settings. */
export const run = (config: PgClient.PgPoolConfig, ...statements: ReadonlyArray<string>) =>
  on(
    config,
    Effect.flatMap(SqlClient.SqlClient, (sql) =>
      Effect.forEach(statements, (statement) => sql.unsafe(statement), { discard: true })
    )
  )

/** Locks a table while `during` runs, so that readers and writers wait. */
export const locking = <A, E, R>(config: PgClient.PgPoolConfig, table: string, during: Effect.Effect<A, E, R>) =>
  on(
    config,
    Effect.flatMap(SqlClient.SqlClient, (sql) =>
      sql.withTransaction(Effect.andThen(sql`LOCK TABLE ${sql(table)} IN ACCESS EXCLUSIVE MODE`, during))
    )
  )
