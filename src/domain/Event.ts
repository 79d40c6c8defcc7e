// Events: what has happened to resources, for whoever follows along.
import { Schema } from "effect"
import { Value } from "./ExactJson.ts"
import { Instant } from "./Instant.ts"

export const EventType = Schema.Literals([
  "relayer.created",
  "relayer.updated",
  "relayer.deleted",
  "relayer.paused",
  "relayer.resumed",
  "relayer.disabled",
  "relayer.enabled",
  "relayer.degraded",
  "relayer.recovered",
  "relayer.low_balance",
  "signer.created",
  "signer.deleted",
  "notification.created",
  "notification.updated",
  "notification.deleted",
  "notification.paused",
  "network.created",
  "network.updated",
  "network.deleted",
  "key.created",
  "key.rotated",
  "key.deleted",
  "master_key.rotated"
]).annotate({ identifier: "EventType" })
export type EventType = typeof EventType.Type

export const Event = Schema.Struct({
  /** Where a reader goes on: `after`, or `Last-Event-ID`. */
  id: Schema.Int,
  type: EventType,
  resource_id: Schema.String,
  at: Instant,
  /** Absent where the service did it by itself. */
  request_id: Schema.optionalKey(Schema.String),
  /** The resource as the API shows it, after the event; of a deletion, before it. */
  data: Value
}).annotate({ identifier: "Event" })
export type Event = typeof Event.Type

/** What is told: the rest is known where it happens. */
export interface NewEvent<S extends Schema.Constraint> {
  readonly type: EventType
  readonly id: string
  readonly schema: S
  readonly data: S["Type"]
}
