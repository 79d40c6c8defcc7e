// Publishes events: they are written in the transaction of the change that they report, so that neither exists alone.
import { Context, Effect, Layer, Schema } from "effect"
import { SqlClient } from "effect/sql"
import type { Statement } from "effect/sql"
import type { KnownEventType, NewEvent } from "../../domain/event/Event.ts"
import { notify } from "../../sql/Session.ts"
import { commitSignalOf, Jobs } from "../lifecycle/Lifecycle.ts"
import { currentRequestId } from "../responses/CurrentRequest.ts"
import * as EventsRepo from "./EventsRepo.ts"

/** The PostgreSQL channel on which instances notify each other that there are new events. */
export const channel = "effect_relayer_events"

/** Events that are committed within this time share a notification. */
const gather = "50 millis"

/** An event whose resource is JSON text. */
export interface EncodedEvent {
  readonly type: KnownEventType
  readonly id: string
  /** JSON text. */
  readonly data: string
  /** Null outside of requests. */
  readonly requestId: string | null
  /** The relayer of the transaction that the event is about. Absent: the event is about another resource. */
  readonly relayerId?: string
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
    /** The same, and the text of an SQL expression, which the same statement reads. Undefined: it is null. */
    emitReading(
      events: ReadonlyArray<EncodedEvent>,
      expression: Statement.Fragment
    ): Effect.Effect<{ readonly ids: ReadonlyArray<number>; readonly read: string | undefined }>
  }
>()("effect-relayer/server/events/Events") {
  static readonly layer = Layer.effect(
    Events,
    Effect.gen(function* () {
      const repo = yield* EventsRepo.make
      const sql = yield* SqlClient.SqlClient
      const jobs = yield* Jobs
      const written = yield* commitSignalOf("events")

      const adopting = yield* jobs.supervise({ job: "events", task: "adopt" })
      yield* Effect.forkScoped(Effect.andThen(adopting(repo.adopt), written.now))

      yield* jobs.run({
        job: "events",
        task: "notify",
        work: notify(sql, channel),
        wait: () => Effect.andThen(Effect.sleep(gather), written.wait())
      })

      const emitReading = Effect.fn("Events.emit")(function* (
        events: ReadonlyArray<EncodedEvent>,
        expression?: Statement.Fragment
      ) {
        const rows = events.map(({ type, id, data, requestId, relayerId = null }) => ({
          type,
          resource_id: id,
          request_id: requestId,
          relayer_id: relayerId,
          data
        }))
        const appended = yield* repo.append(rows, expression)
        yield* written.afterCommit
        return appended
      })

      const emitMany = (events: ReadonlyArray<EncodedEvent>) => Effect.map(emitReading(events), ({ ids }) => ids)

      const emit = Effect.fnUntraced(function* <S extends Schema.ConstraintEncoder<unknown>>(event: NewEvent<S>) {
        const [id] = yield* emitMany([encode(event, (yield* currentRequestId) ?? null)])
        return Number(id)
      })

      return Events.of({ emit, emitMany, emitReading })
    })
  )
}
