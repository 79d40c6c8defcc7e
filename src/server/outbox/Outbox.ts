// What is to be delivered: written in the transaction of the event that it tells of.
import { Context, DateTime, Effect, Layer } from "effect"
import { SecureRandom } from "effect/crypto"
import type { Statement } from "effect/sql"
import type { EventType } from "../../domain/event/Event.ts"
import type { Relayer } from "../../domain/relayer/Relayer.ts"
import * as Webhook from "../../domain/notification/Webhook.ts"
import { DeliveriesRepo } from "../notifications/delivery/DeliveriesRepo.ts"
import { WakeUp } from "./WakeUp.ts"

/** A relayer's event, for its notification. */
export interface RelayerEvent {
  readonly eventId: number
  readonly type: EventType
  readonly relayer: Relayer
}

/** The delivery of a relayer that is created: its body before and after the relayer's JSON. */
export type MadeDelivery = {
  readonly delivery_id: string
  readonly body_before: string
  readonly body_after: string
}

export class Outbox extends Context.Service<
  Outbox,
  {
    /**
     * Part of the running transaction, which has to hold the relayer: deliveries are sent in the order in which they were
     * put. Nothing to do where the relayer has no notification.
     */
    put(event: RelayerEvent): Effect.Effect<void>
    /**
     * The same of relayers that a statement's `made` creates (`id`, `json`, `notification_id`, and what `making` says of each)
     * and its `told` tells of, as part of it. `filled` comes after.
     */
    readonly putMade: Statement.Fragment
    readonly making: Effect.Effect<MadeDelivery>
    /** There is something to send, when the running transaction has been committed. */
    readonly filled: Effect.Effect<void>
  }
>()("effect-relayer/server/outbox/Outbox") {
  static readonly layerNoDeps = Layer.effect(
    Outbox,
    Effect.gen(function* () {
      const repo = yield* DeliveriesRepo
      const wakeUp = yield* WakeUp
      const random = yield* SecureRandom.SecureRandom

      const put = Effect.fn("Outbox.put")(function* ({ eventId, type, relayer }: RelayerEvent) {
        const { id: relayer_id, notification_id } = relayer
        if (notification_id === undefined) return
        const id = yield* random.uuidV4()
        const body = Webhook.relayerBody({ id, type, relayer, at: yield* DateTime.now })
        yield* repo.insert({ id, notification_id, event_id: eventId, lane: relayer_id, event: type, body })
        yield* wakeUp.afterCommit
      })

      const making = Effect.map(Effect.all([random.uuidV4(), DateTime.now]), ([id, at]): MadeDelivery => {
        const [body_before, body_after] = Webhook.createdBody({ id, at })
        return { delivery_id: id, body_before, body_after }
      })

      return Outbox.of({ put, putMade: repo.insertMade("relayer.created"), making, filled: wakeUp.afterCommit })
    })
  )

  static readonly layer = this.layerNoDeps.pipe(
    Layer.provide([DeliveriesRepo.layer, WakeUp.layer, SecureRandom.layerWebCrypto])
  )
}
