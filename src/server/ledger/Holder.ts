// This process as a holder of lanes: an id, and a session that shows others that the process is alive.
import { Context, Effect, Layer } from "effect"
import { SqlClient } from "effect/sql"
import { randomUUID } from "node:crypto"
import { latestMigration } from "../../sql/migrations/index.ts"
import * as SessionLock from "../../sql/SessionLock.ts"

export class Holder extends Context.Service<Holder, { readonly id: string }>()("effect-relayer/server/ledger/Holder") {
  static readonly layer = Layer.effect(
    Holder,
    Effect.gen(function* () {
      const id = randomUUID()
      yield* SessionLock.hold(yield* SqlClient.SqlClient, SessionLock.keyOf(id), latestMigration)
      return Holder.of({ id })
    })
  )
}
