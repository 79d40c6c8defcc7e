// Events: written in the transaction of what they tell of, so that there is neither without the other.
import { Context, Effect, Layer, Schema } from "effect"
import type { NewEvent } from "../../domain/Event.ts"
import { CurrentRequestId } from "../System/RequestId.ts"
import { EventsRepo } from "./EventsRepo.ts"

const jsonText = <S extends Schema.ConstraintEncoder<unknown>>(schema: S, data: S["Type"]) =>
  JSON.stringify(Schema.encodeSync(schema)(data))

export class Events extends Context.Service<
  Events,
  {
    /** Part of the running transaction. Returns the event's id. */
    emit<S extends Schema.ConstraintEncoder<unknown>>(event: NewEvent<S>): Effect.Effect<number>
  }
>()("effect-relayer/server/Events/Events") {
  static readonly layerNoDeps = Layer.effect(
    Events,
    Effect.gen(function* () {
      const repo = yield* EventsRepo

      const emit = Effect.fn("Events.emit")(function* <S extends Schema.ConstraintEncoder<unknown>>({
        type,
        id,
        schema,
        data
      }: NewEvent<S>) {
        const request_id = (yield* CurrentRequestId) ?? null
        return yield* repo.append({ type, resource_id: id, request_id, data: jsonText(schema, data) })
      })

      return Events.of({ emit })
    })
  )

  static readonly layer = this.layerNoDeps.pipe(Layer.provide(EventsRepo.layer))
}
