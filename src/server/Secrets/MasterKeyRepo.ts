// The table `master_key`.
import { Context, Effect, Layer, Schema } from "effect"
import { SqlSchema } from "effect/sql"
import { client, query } from "../../sql/Query.ts"

export class MasterKeyRepo extends Context.Service<
  MasterKeyRepo,
  {
    /** Keeps `sealed` unless there is a mark already; returns the mark that is kept. */
    keep(sealed: Uint8Array): Effect.Effect<Uint8Array>
  }
>()("effect-relayer/server/Secrets/MasterKeyRepo") {
  static readonly layer = Layer.effect(
    MasterKeyRepo,
    Effect.gen(function* () {
      const sql = yield* client
      const keepRow = SqlSchema.findOne({
        Request: Schema.Uint8Array,
        Result: Schema.Struct({ sealed: Schema.Uint8Array }),
        execute: (sealed) => sql`
          INSERT INTO master_key (sealed) VALUES (${sealed})
          ON CONFLICT (id) DO UPDATE SET id = true RETURNING sealed`
      })
      const keep = (sealed: Uint8Array) =>
        keepRow(sealed).pipe(
          Effect.map((row) => row.sealed),
          Effect.catchTag("NoSuchElementError", Effect.die),
          query("MasterKeyRepo.keep")
        )
      return MasterKeyRepo.of({ keep })
    })
  )
}
