// Changes of resources: on record, and told of, in the transaction that makes them.
import { Context, Effect, Layer } from "effect"
import type { Schema } from "effect"
import type { Statement } from "effect/sql"
import * as Caller from "../../domain/access/Caller.ts"
import type { Change } from "../../domain/audit/Change.ts"
import type { EventType } from "../../domain/event/Event.ts"
import { Relayer } from "../../domain/relayer/Relayer.ts"
import { Audit } from "../audit/Audit.ts"
import { Events } from "../events/Events.ts"
import { CurrentRequestId } from "../responses/RequestId.ts"
import { Outbox } from "../outbox/Outbox.ts"
import type { MadeDelivery } from "../outbox/Outbox.ts"

/** Not all that is on record is told. */
type EventfulChange<S extends Schema.Constraint> = Change<S> & { readonly action: EventType }

export interface RelayerChange {
  readonly action: "relayer.updated" | "relayer.deleted"
  readonly before: Relayer
  readonly after?: Relayer
}

/** Whose doing it is that a relayer is created, and the delivery of that. */
export type Making = MadeDelivery & {
  readonly key_id: string
  readonly request_id: string | null
}

export class Changes extends Context.Service<
  Changes,
  {
    /** What a caller has changed: a record of the audit log, and an event of the same name. */
    record<S extends Schema.ConstraintEncoder<unknown>>(change: EventfulChange<S>): Effect.Effect<void>
    /** The same of a relayer, whose notification is told as well; also that it was paused or resumed. */
    recordRelayer(change: RelayerChange): Effect.Effect<void>
    /**
     * The same of relayers that a statement creates in its `made` (`id`, `json`, `notification_id`, and what `making` says of
     * each), as further parts of that statement by their names there. `recorded` comes after it.
     */
    readonly ofMadeRelayers: Readonly<Record<"audited" | "told" | "queued", Statement.Fragment>>
    readonly making: Effect.Effect<Making>
    /** There is something to chain, to read and to send, when the running transaction has been committed. */
    readonly recorded: Effect.Effect<void>
    /** What has happened to a relayer by itself: an event, and a delivery to its notification. */
    tell(type: EventType, relayer: Relayer): Effect.Effect<void>
  }
>()("effect-relayer/server/changes/Changes") {
  static readonly layerNoDeps = Layer.effect(
    Changes,
    Effect.gen(function* () {
      const audit = yield* Audit
      const events = yield* Events
      const outbox = yield* Outbox

      const tell = Effect.fn("Changes.tell")(function* (type: EventType, relayer: Relayer) {
        const eventId = yield* events.emit({ type, id: relayer.id, schema: Relayer, data: relayer })
        yield* outbox.put({ eventId, type, relayer })
      })

      const record = Effect.fn("Changes.record")(function* <S extends Schema.ConstraintEncoder<unknown>>(
        change: EventfulChange<S>
      ) {
        yield* audit.record(change)
        const { action, id, schema, before, after } = change
        yield* events.emit({ type: action, id, schema, data: after ?? before })
      })

      const recordRelayer = Effect.fn("Changes.recordRelayer")(function* ({ action, before, after }: RelayerChange) {
        yield* audit.record({
          action,
          id: before.id,
          schema: Relayer,
          before,
          ...(after === undefined ? {} : { after })
        })
        yield* tell(action, after ?? before)
        if (after !== undefined && before.paused !== after.paused) {
          yield* tell(after.paused ? "relayer.paused" : "relayer.resumed", after)
        }
      })

      const ofMadeRelayers = {
        audited: audit.recordMade("relayer.created"),
        told: events.emitMade("relayer.created"),
        queued: outbox.putMade
      }
      const making = Effect.all([Caller.current, CurrentRequestId, outbox.making]).pipe(
        Effect.map(([{ id: key_id }, request_id = null, delivery]): Making => ({ key_id, request_id, ...delivery }))
      )
      const recorded = Effect.all([audit.recorded, events.emitted, outbox.filled], { discard: true })

      return Changes.of({ record, recordRelayer, ofMadeRelayers, making, recorded, tell })
    })
  )

  static readonly layer = this.layerNoDeps.pipe(Layer.provide([Events.layer, Outbox.layer]))
}
