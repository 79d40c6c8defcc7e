// Whether the instance is about to stop: it still responds to requests, but accepts no new connections.
import { Context, Effect, Latch, Layer } from "effect"

export class Draining extends Context.Service<
  Draining,
  {
    readonly isDraining: () => boolean
    /** Waits until draining begins. Streams without an end of their own end then. */
    readonly begun: Effect.Effect<void>
    /** Begins draining. It cannot be undone. `Server.drainFirst` does it before a server closes. */
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
