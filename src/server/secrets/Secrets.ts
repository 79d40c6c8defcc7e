// Secrets at rest: envelope encryption under a master key, bound to the row and column that hold them.
import { Context, Effect, Layer } from "effect"
import type { Redacted } from "effect"
import { ActiveKeyring } from "./ActiveKeyring.ts"
import type { Place } from "./Envelope.ts"
import type { Keys, SecretUnreadable } from "./Keyring.ts"

export class Secrets extends Context.Service<
  Secrets,
  {
    /** Seals under the current master key, with a new data key. */
    seal(secret: Redacted.Redacted, place: Place): Effect.Effect<Uint8Array>
    /** Opens with the master key that `sealed` names. */
    open(sealed: Uint8Array, place: Place): Effect.Effect<Redacted.Redacted, SecretUnreadable>
  }
>()("effect-relayer/server/secrets/Secrets") {
  /** A layer of its own for each use, because a shared one would ignore the keys of the second use. */
  static readonly layer = (keys: Keys) =>
    Layer.effect(
      Secrets,
      Effect.gen(function* () {
        const active = yield* ActiveKeyring
        const seal = Effect.fn("Secrets.seal")(function* (secret: Redacted.Redacted, place: Place) {
          return yield* (yield* active.get).seal(secret, place)
        })
        // Without a span: a plan of a configuration opens thousands of secrets.
        const open = (sealed: Uint8Array, place: Place) =>
          Effect.flatMap(active.get, (keyring) => keyring.open(sealed, place))
        return Secrets.of({ seal, open })
      })
    ).pipe(Layer.provideMerge(ActiveKeyring.layer(keys)))
}
