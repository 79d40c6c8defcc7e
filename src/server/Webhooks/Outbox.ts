// What is to be delivered: written in the transaction of the event that it tells of.
import { Context, Effect, Layer } from "effect"
import { SecureRandom } from "effect/crypto"
import type { EventType } from "../../domain/Event.ts"
import type { Relayer } from "../../domain/Relayer.ts"

/** A relayer's event, for its notification. */
export interface RelayerEvent {
  readonly eventId: number
  readonly type: EventType
  readonly relayer: Relayer
}

export class Outbox extends Context.Service<
  Outbox,
  {
    /** Part of the running transaction. Nothing to do where the relayer has no notification. */
    put(event: RelayerEvent): Effect.Effect<void>
  }
>()("effect-relayer/server/Webhooks/Outbox") {
  static readonly layerNoDeps = Layer.effect(
    Outbox,
    Effect.gen(function* () {
      yield* SecureRandom.SecureRandom
      return Outbox.of({ put: () => Effect.void })
    })
  )

  static readonly layer = this.layerNoDeps.pipe(Layer.provide(SecureRandom.layerWebCrypto))
}
