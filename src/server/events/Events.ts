// Events: written in the transaction of what they tell of, so that there is neither without the other.
import { Context, Effect, Latch, Layer, Schema } from "effect"
import { SqlClient } from "effect/sql"
import type { Statement } from "effect/sql"
import type { EventType, NewEvent } from "../../domain/event/Event.ts"
import * as Listen from "../../sql/Listen.ts"
import { CurrentRequestId } from "../responses/RequestId.ts"
import { EventsRepo } from "./EventsRepo.ts"

/** Where it is told that there are events; those who read them listen. */
export const channel = "effect_relayer_events"

/** Events of one moment are told of once. */
const gather = "50 millis"

const jsonText = <S extends Schema.ConstraintEncoder<unknown>>(schema: S, data: S["Type"]) =>
  JSON.stringify(Schema.encodeSync(schema)(data))

export class Events extends Context.Service<
  Events,
  {
    /** Part of the running transaction. Returns the event's id. */
    emit<S extends Schema.ConstraintEncoder<unknown>>(event: NewEvent<S>): Effect.Effect<number>
    /**
     * The events of what a statement's `made` (`id`, `json`, `request_id`) creates, as part of that statement: `id` and
     * `resource_id`. `emitted` comes after it.
     */
    emitMade(type: EventType): Statement.Fragment
    /** There is something to read, when the running transaction has been committed. */
    readonly emitted: Effect.Effect<void>
  }
>()("effect-relayer/server/events/Events") {
  static readonly layerNoDeps = Layer.effect(
    Events,
    Effect.gen(function* () {
      const repo = yield* EventsRepo
      const sql = yield* SqlClient.SqlClient
      const written = yield* Latch.make(false)

      yield* Effect.catchDefect(repo.adopt, (defect) =>
        Effect.logWarning("events that were restored from another server are not shown yet", defect)
      )
      yield* written.await.pipe(
        Effect.andThen(written.close),
        Effect.andThen(Listen.notify(sql, channel)),
        // Readers look by themselves, too.
        Effect.catchCause((cause) => Effect.logDebug("nobody is told of events", cause)),
        Effect.andThen(Effect.sleep(gather)),
        Effect.forever,
        Effect.forkScoped
      )

      const emitted = sql.afterCommit(Effect.asVoid(written.open))

      const emit = Effect.fn("Events.emit")(function* <S extends Schema.ConstraintEncoder<unknown>>({
        type,
        id,
        schema,
        data
      }: NewEvent<S>) {
        const request_id = (yield* CurrentRequestId) ?? null
        const eventId = yield* repo.append({ type, resource_id: id, request_id, data: jsonText(schema, data) })
        yield* emitted
        return eventId
      })

      return Events.of({ emit, emitMade: repo.appendMade, emitted })
    })
  )

  static readonly layer = this.layerNoDeps.pipe(Layer.provide(EventsRepo.layer))
}
