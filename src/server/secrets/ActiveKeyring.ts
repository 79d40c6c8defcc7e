// The keyring that seals and opens secrets at this moment. A rotation replaces it.
import { Context, Effect, Layer, Ref } from "effect"
import { Digest, SecureRandom } from "effect/crypto"
import type { Aead } from "effect/crypto"
import * as Keyring from "./Keyring.ts"
import * as NativeAead from "./NativeAead.ts"

export class ActiveKeyring extends Context.Service<
  ActiveKeyring,
  {
    readonly get: Effect.Effect<Keyring.Keyring>
    /** Makes another keyring without using it. */
    make(keys: Keyring.Keys): Effect.Effect<Keyring.Keyring>
    use(keyring: Keyring.Keyring): Effect.Effect<void>
  }
>()("effect-relayer/server/secrets/ActiveKeyring") {
  static readonly layer = (keys: Keyring.Keys) =>
    Layer.effect(
      ActiveKeyring,
      Effect.gen(function* () {
        const crypto = yield* Effect.context<Aead.Aead | Digest.Digest | SecureRandom.SecureRandom>()
        const make = (keys: Keyring.Keys) => Effect.provideContext(Keyring.make(keys), crypto)
        const ref = yield* Ref.make(yield* make(keys))
        return ActiveKeyring.of({ get: Ref.get(ref), make, use: (keyring) => Ref.set(ref, keyring) })
      })
    ).pipe(
      Layer.provide(
        Layer.mergeAll(NativeAead.layer, Digest.layerWebCrypto).pipe(Layer.provideMerge(SecureRandom.layerWebCrypto))
      )
    )
}
