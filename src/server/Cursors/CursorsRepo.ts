// The secret of cursors, in the table `service_secrets`.
import { Context, Effect, Layer, Schema } from "effect"
import { SqlSchema } from "effect/sql"
import { client, query } from "../../sql/Query.ts"

export class CursorsRepo extends Context.Service<
  CursorsRepo,
  {
    /** Keeps `sealed` unless there is a secret already; returns the one that is kept. */
    keep(name: string, sealed: Uint8Array): Effect.Effect<Uint8Array>
  }
>()("effect-relayer/server/Cursors/CursorsRepo") {
  static readonly layer = Layer.effect(
    CursorsRepo,
    Effect.gen(function* () {
      const sql = yield* client
      const keepRow = SqlSchema.findOne({
        Request: Schema.Struct({ name: Schema.String, sealed: Schema.Uint8Array }),
        Result: Schema.Struct({ sealed: Schema.Uint8Array }),
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
      return CursorsRepo.of({ keep })
    })
  )
}
