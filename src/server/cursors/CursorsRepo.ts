// The secret of cursors, in the table `service_secrets`.
import { Context, Effect, Layer, Option, Schema } from "effect"
import { SqlSchema } from "effect/sql"
import { client, query } from "../../sql/Query.ts"

export class CursorsRepo extends Context.Service<
  CursorsRepo,
  {
    find(name: string): Effect.Effect<Option.Option<Uint8Array>>
    /** Keeps `sealed` unless there is a secret already; returns the one that is kept. */
    keep(name: string, sealed: Uint8Array): Effect.Effect<Uint8Array>
  }
>()("effect-relayer/server/cursors/CursorsRepo") {
  static readonly layer = Layer.effect(
    CursorsRepo,
    Effect.gen(function* () {
      const sql = yield* client
      const Row = Schema.Struct({ sealed: Schema.Uint8Array })
      const findRow = SqlSchema.findOneOption({
        Request: Schema.String,
        Result: Row,
        execute: (name) => sql`SELECT sealed FROM service_secrets WHERE name = ${name}`
      })
      const find = (name: string) =>
        findRow(name).pipe(Effect.map(Option.map(({ sealed }) => sealed)), query("CursorsRepo.find"))
      const keepRow = SqlSchema.findOne({
        Request: Schema.Struct({ name: Schema.String, sealed: Schema.Uint8Array }),
        Result: Row,
        execute: ({ name, sealed }) => sql`
          INSERT INTO service_secrets (name, sealed) VALUES (${name}, ${sealed})
          ON CONFLICT (name) DO UPDATE SET name = excluded.name RETURNING sealed`
      })
      const keep = (name: string, sealed: Uint8Array) =>
        keepRow({ name, sealed }).pipe(
          Effect.map((row) => row.sealed),
          Effect.catchTag("NoSuchElementError", Effect.die),
          query("CursorsRepo.keep")
        )
      return CursorsRepo.of({ find, keep })
    })
  )
}
