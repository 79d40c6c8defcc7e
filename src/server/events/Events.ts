// Events: written in the transaction of what they tell of, so that there is neither without the other.
import { Cause, Context, Effect, Latch, Layer, Schema } from "effect"
import { SqlClient } from "effect/sql"
import type { EventType, NewEvent } from "../../domain/event/Event.ts"
import * as Listen from "../../sql/Listen.ts"
import { currentRequestId } from "../responses/CurrentRequest.ts"
import { EventsRepo } from "./EventsRepo.ts"

/** Where it is told that there are events; those who read them listen. */
export const channel = "effect_relayer_events"

/** Events of one moment are told of once. */
const gather = "50 millis"

/** An event whose resource is JSON text. */
export interface EncodedEvent {
  readonly type: EventType
  readonly id: string
  /** JSON text. */
  readonly data: string
  /** Null outside of requests. */
  readonly requestId: string | null
}

const encode = <S extends Schema.ConstraintEncoder<unknown>>(
  { type, id, schema, data }: NewEvent<S>,
  requestId: string | null
): EncodedEvent => ({ type, id, data: JSON.stringify(Schema.encodeSync(schema)(data)), requestId })

export class Events extends Context.Service<
  Events,
  {
    /** Part of the running transaction. Returns the event's id. */
    emit<S extends Schema.ConstraintEncoder<unknown>>(event: NewEvent<S>): Effect.Effect<number>
    /** The same for a batch, with one statement. Returns the ids in the order of the events. */
    emitMany(events: ReadonlyArray<EncodedEvent>): Effect.Effect<ReadonlyArray<number>>
  }
>()("effect-relayer/server/events/Events") {
  static readonly layerNoDeps = Layer.effect(
    Events,
    Effect.gen(function* () {
      const repo = yield* EventsRepo
      const sql = yield* SqlClient.SqlClient
      const written = yield* Latch.make(false)

      yield* Effect.catchDefect(repo.adopt, (defect) =>
        Effect.logWarning("cannot adopt the events of a restored database yet", Cause.die(defect))
      )
      yield* written.await.pipe(
        Effect.andThen(written.close),
        Effect.andThen(Listen.notify(sql, channel)),
        // Readers look by themselves, too.
        Effect.catchCause((cause) => Effect.logDebug("cannot notify the readers of events", cause)),
        Effect.andThen(Effect.sleep(gather)),
        Effect.forever,
        Effect.forkScoped
      )

      const emitted = sql.afterCommit(Effect.asVoid(written.open))

      const emitMany = Effect.fn("Events.emitMany")(function* (events: ReadonlyArray<EncodedEvent>) {
        const ids = yield* repo.append(
          events.map(({ type, id, data, requestId }) => ({ type, resource_id: id, request_id: requestId, data }))
        )
        yield* emitted
        return ids
      })

      const emit = Effect.fnUntraced(function* <S extends Schema.ConstraintEncoder<unknown>>(event: NewEvent<S>) {
        const [id] = yield* emitMany([encode(event, (yield* currentRequestId) ?? null)])
        return Number(id)
      })

      return Events.of({ emit, emitMany })
    })
  )

  static readonly layer = this.layerNoDeps.pipe(Layer.provide(EventsRepo.layer))
}
