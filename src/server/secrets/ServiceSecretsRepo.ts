// The table `service_secrets`.
import { Effect, Option, Schema } from "effect"
import { client, query } from "../../sql/Query.ts"
import * as Rows from "../../sql/Rows.ts"

const Row = Schema.Struct({ sealed: Schema.Uint8Array })
const readFound = Rows.first(Row)
const readKept = Rows.one(Row)

export const make = Effect.gen(function* () {
  const sql = yield* client
  const find = (name: string) =>
    sql`SELECT sealed FROM service_secrets WHERE name = ${name}`.pipe(
      Effect.flatMap(readFound),
      Effect.map(Option.map(({ sealed }) => sealed)),
      query("ServiceSecretsRepo.find")
    )

  /** Stores `sealed` unless a secret is stored already; returns the stored one. */
  const keep = (name: string, sealed: Uint8Array) =>
    sql`
      INSERT INTO service_secrets (name, sealed) VALUES (${name}, ${sealed})
      ON CONFLICT (name) DO UPDATE SET name = excluded.name RETURNING sealed`.pipe(
      Effect.flatMap(readKept),
      Effect.map((row) => row.sealed),
      query("ServiceSecretsRepo.keep")
    )

  return { find, keep }
})
