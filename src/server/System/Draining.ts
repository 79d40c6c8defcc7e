// Whether the process is about to stop: it answers what comes, but wants no new connections.
import { Context, Effect, Layer } from "effect"

export class Draining extends Context.Service<
  Draining,
  {
    readonly isDraining: () => boolean
    /** Cannot be undone. */
    readonly begin: Effect.Effect<void>
  }
>()("effect-relayer/server/System/Draining") {
  static readonly layer = Layer.sync(Draining, () => {
    let draining = false
    return Draining.of({
      isDraining: () => draining,
      begin: Effect.sync(() => {
        draining = true
      })
    })
  })
}
