// The table `service_secrets`.
import { Effect, Schema } from "effect"
import { client, query } from "../../sql/Query.ts"
import * as Rows from "../../sql/Rows.ts"

const Row = Schema.Struct({ name: Schema.String, sealed: Schema.Uint8Array })
const readFound = Rows.all(Row)
const readKept = Rows.one(Row)

export const make = Effect.gen(function* () {
  const sql = yield* client

  /** The sealed secrets by name. Names without a secret are left out. */
  const find = (names: ReadonlyArray<string>) =>
    sql`SELECT name, sealed FROM service_secrets WHERE name = ANY(${names}::text[])`.pipe(
      Effect.flatMap(readFound),
      Effect.map((rows) => new Map(rows.map(({ name, sealed }) => [name, sealed]))),
      query("ServiceSecretsRepo.find")
    )

  /** Stores `sealed` unless a secret is stored already; returns the stored one. */
  const keep = (name: string, sealed: Uint8Array) =>
    sql`
      INSERT INTO service_secrets (name, sealed) VALUES (${name}, ${sealed})
      ON CONFLICT (name) DO UPDATE SET name = excluded.name RETURNING name, sealed`.pipe(
      Effect.flatMap(readKept),
      Effect.map((row) => row.sealed),
      query("ServiceSecretsRepo.keep")
    )

  return { find, keep }
})
