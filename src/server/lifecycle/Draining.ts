// Whether the process is about to stop: it answers what comes, but wants no new connections.
import { Context, Effect, Latch, Layer } from "effect"

export class Draining extends Context.Service<
  Draining,
  {
    readonly isDraining: () => boolean
    /** Waits for it: what has no end of its own ends then. */
    readonly begun: Effect.Effect<void>
    /** Cannot be undone. `Server.drainFirst` does it before a server closes. */
    readonly begin: Effect.Effect<void>
  }
>()("effect-relayer/server/lifecycle/Draining") {
  static readonly layer = Layer.sync(Draining, () => {
    const draining = Latch.makeUnsafe(false)
    return Draining.of({
      isDraining: () => draining.isOpen(),
      begun: draining.await,
      begin: Effect.asVoid(draining.open)
    })
  })
}
