// Database clients that interfere with the statements of a repository, for tests of what happens between them.
import { Effect } from "effect"
import type { SqlClient } from "effect/sql"

/** Runs `before` each time before a statement that contains `part`. */
export const beforeStatement = (
  sql: SqlClient.SqlClient,
  part: string,
  before: Effect.Effect<unknown>
): SqlClient.SqlClient =>
  new Proxy(sql, {
    apply: (target, self, parts: [TemplateStringsArray, ...ReadonlyArray<unknown>]) => {
      const statement: Effect.Effect<ReadonlyArray<unknown>> = Reflect.apply(target, self, parts)
      return parts[0].join("").includes(part) ? Effect.andThen(before, statement) : statement
    },
    get: (target, key) =>
      key === "withoutTransforms"
        ? () => beforeStatement(target.withoutTransforms(), part, before)
        : Reflect.get(target, key)
  })

/** Runs `after` each time after a transaction has been committed. */
export const afterTransaction = (sql: SqlClient.SqlClient, after: Effect.Effect<unknown>): SqlClient.SqlClient =>
  new Proxy(sql, {
    get: (target, key) => {
      if (key === "withoutTransforms") return () => afterTransaction(target.withoutTransforms(), after)
      if (key !== "withTransaction") return Reflect.get(target, key)
      return <A, E, R>(self: Effect.Effect<A, E, R>) => Effect.tap(target.withTransaction(self), () => after)
    }
  })
