// Tells the worker of this process that there may be something to deliver: it looks at once.
import { Context, Effect, Latch, Layer } from "effect"
import { SqlClient } from "effect/sql"

export class WakeUp extends Context.Service<
  WakeUp,
  {
    /** Open since something may have come. */
    readonly latch: Latch.Latch
    /** When what the running transaction has written is there to be seen; now, outside of one. */
    readonly afterCommit: Effect.Effect<void>
  }
>()("effect-relayer/server/outbox/WakeUp") {
  static readonly layer = Layer.effect(
    WakeUp,
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const latch = yield* Latch.make(true)
      return WakeUp.of({ latch, afterCommit: sql.afterCommit(Effect.asVoid(latch.open)) })
    })
  )
}
