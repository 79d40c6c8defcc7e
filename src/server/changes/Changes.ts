// Changes of resources: each is recorded in the audit log and published as an event, in the transaction that makes it.
import { Array, Context, Effect, Layer, Schema } from "effect"
import type { KnownEventType } from "../../domain/event/Event.ts"
import { Audit, encodeChange, resourceText } from "../audit/Audit.ts"
import type { EncodedChange } from "../audit/Audit.ts"
import { Outbox } from "../outbox/Outbox.ts"
import type { Change, KnownAction } from "../../domain/audit/Audit.ts"
import { Relayer } from "../../domain/relayer/Relayer.ts"
import { Events } from "../events/Events.ts"
import type { EncodedEvent } from "../events/Events.ts"
import { currentOrigin } from "../responses/CurrentRequest.ts"
import type { Origin } from "../responses/CurrentRequest.ts"

/** Some actions are recorded without an event. */
type EventfulAction = KnownAction & KnownEventType
type EventfulChange<S extends Schema.Constraint> = Change<S> & { readonly action: EventfulAction }

type RelayerChange =
  | { readonly action: "relayer.created"; readonly after: Relayer }
  | { readonly action: "relayer.updated"; readonly before: Relayer; readonly after: Relayer }
  | { readonly action: "relayer.deleted"; readonly before: Relayer }

/** The changes of a batch may come from different requests. */
type AttributedChange = RelayerChange & { readonly origin: Origin }

const eventOf = (change: EncodedChange<EventfulAction>): EncodedEvent => ({
  type: change.action,
  id: change.id,
  data: resourceText(change),
  requestId: change.origin.requestId
})

/** Pausing and resuming a relayer have events of their own, after that of the update. */
const eventsOf = (change: RelayerChange, encoded: EncodedChange<RelayerChange["action"]>): ReadonlyArray<Published> => {
  const event = eventOf(encoded)
  if (change.action === "relayer.deleted") return [{ event, relayer: change.before }]
  const relayer = change.after
  if (change.action === "relayer.created" || change.before.paused === relayer.paused) return [{ event, relayer }]
  const type = relayer.paused ? "relayer.paused" : "relayer.resumed"
  return [
    { event, relayer },
    { event: { ...event, type }, relayer }
  ]
}

/** A change in the form in which it is stored. */
interface Recorded {
  readonly change: EncodedChange<EventfulAction>
  readonly events: ReadonlyArray<Published>
}

/** `relayer`: its notification gets a delivery. */
interface Published {
  readonly event: EncodedEvent
  readonly relayer?: Relayer
}

/** The changes of an effect that are recorded at its end. Absent: each is recorded when it is made. */
const Collected = Context.Reference<Array<Recorded> | undefined>("effect-relayer/server/changes/Collected", {
  defaultValue: () => undefined
})

const encodeRelayer = Schema.encodeSync(Relayer)

const encode = ({ origin, ...change }: AttributedChange) => {
  const { id } = change.action === "relayer.deleted" ? change.before : change.after
  return encodeChange({ ...change, id, schema: Relayer }, origin)
}

const makeChanges = Effect.gen(function* () {
  const audit = yield* Audit
  const events = yield* Events
  const outbox = yield* Outbox

  const publishMany = Effect.fnUntraced(function* (published: ReadonlyArray<Published>) {
    const ids = yield* events.emitMany(published.map(({ event }) => event))
    const deliveries = Array.zip(published, ids).flatMap(([{ event, relayer }, eventId]) =>
      relayer === undefined ? [] : [{ eventId, type: event.type, relayer }]
    )
    if (deliveries.length > 0) yield* outbox.putMany(deliveries)
  })

  const storeMany = Effect.fnUntraced(function* (recorded: ReadonlyArray<Recorded>) {
    if (recorded.length === 0) return
    yield* audit.recordMany(recorded.map(({ change }) => change))
    yield* publishMany(recorded.flatMap(({ events }) => events))
  })

  const storeOrCollect = (recorded: ReadonlyArray<Recorded>) =>
    Effect.flatMap(Collected, (collected) =>
      collected === undefined ? storeMany(recorded) : Effect.sync(() => collected.push(...recorded))
    )

  /**
   * Records the changes of an effect at its end, in their order, with one statement per table. The effect is part of a
   * transaction that ends if the effect fails.
   */
  const together = <A, E, R>(self: Effect.Effect<A, E, R>) =>
    Effect.suspend(() => {
      const collected: Array<Recorded> = []
      return Effect.tap(Effect.provideService(self, Collected, collected), () => storeMany(collected))
    })

  /** Publishes what the service found out about a relayer: an event, and a delivery to its notification. */
  const publish = Effect.fn("Changes.publish")(function* (type: KnownEventType, relayer: Relayer) {
    const { requestId } = yield* currentOrigin
    const data = JSON.stringify(encodeRelayer(relayer))
    yield* publishMany([{ event: { type, id: relayer.id, data, requestId }, relayer }])
  })

  /** Records what a caller changed, and publishes an event of the same name. */
  const record = Effect.fn("Changes.record")(function* <S extends Schema.ConstraintEncoder<unknown>>(
    change: EventfulChange<S>
  ) {
    const encoded = encodeChange(change, yield* currentOrigin)
    yield* storeOrCollect([{ change: encoded, events: [{ event: eventOf(encoded) }] }])
  })

  /** Records changes of relayers, whose notifications get a delivery of each event, with one statement per table. */
  const recordRelayers = Effect.fn("Changes.recordRelayers")(function* (changes: ReadonlyArray<AttributedChange>) {
    yield* storeOrCollect(
      changes.map((attributed) => {
        const change = encode(attributed)
        return { change, events: eventsOf(attributed, change) }
      })
    )
  })

  /** The same for one relayer. */
  const recordRelayer = (change: RelayerChange) =>
    Effect.flatMap(currentOrigin, (origin) => recordRelayers([{ ...change, origin }]))

  return { record, recordRelayer, recordRelayers, together, publish }
})

export class Changes extends Context.Service<Changes, Effect.Success<typeof makeChanges>>()(
  "effect-relayer/server/changes/Changes"
) {
  static readonly layer = Layer.effect(Changes, makeChanges).pipe(Layer.provide([Events.layer, Outbox.layer]))
}
