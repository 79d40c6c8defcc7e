// Tells the health worker of this process that a check may have become due: it looks at once.
import { Context, Effect, Latch, Layer } from "effect"
import { SqlClient } from "effect/sql"

export class DueChecks extends Context.Service<
  DueChecks,
  {
    /** Open since a check may have become due. */
    readonly latch: Latch.Latch
    /** When what the running transaction has written is there to be seen; now, outside of one. */
    readonly afterCommit: Effect.Effect<void>
  }
>()("effect-relayer/server/health/DueChecks") {
  static readonly layer = Layer.effect(
    DueChecks,
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const latch = yield* Latch.make(true)
      return DueChecks.of({ latch, afterCommit: sql.afterCommit(Effect.asVoid(latch.open)) })
    })
  )
}
