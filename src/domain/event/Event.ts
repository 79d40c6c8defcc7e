// Events: what has happened to resources, for whoever follows along.
import { Schema } from "effect"
import * as ApiKeyNames from "../access/ApiKeyNames.ts"
import * as MasterKeyNames from "../masterKey/MasterKeyNames.ts"
import * as NetworkNames from "../network/NetworkNames.ts"
import * as NotificationNames from "../notification/NotificationNames.ts"
import * as RelayerNames from "../relayer/RelayerNames.ts"
import * as SignerNames from "../signer/SignerNames.ts"
import { Value } from "../request/ExactJson.ts"
import { Instant } from "../request/Instant.ts"
import { Count } from "../request/Page.ts"
import { searchText } from "../request/Text.ts"

export const EventType = Schema.Literals([
  ...RelayerNames.eventTypes,
  ...SignerNames.eventTypes,
  ...NotificationNames.eventTypes,
  ...NetworkNames.eventTypes,
  ...ApiKeyNames.eventTypes,
  ...MasterKeyNames.eventTypes
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

export const defaultEvents = 100
export const maxEvents = 1000

/** Seconds, below any sane time limit of a request. */
export const maxWait = 25

export const EventQuery = {
  after: Schema.optionalKey(
    Count.annotateKey({
      description:
        "`id` of the event to go on after; 0, or left out: from the first event. `Last-Event-ID` wins over it."
    })
  ),
  type: Schema.optionalKey(EventType.annotateKey({ description: "Only events of this type." })),
  resource_id: Schema.optionalKey(searchText.annotateKey({ description: "Only events of this resource." })),
  limit: Schema.optionalKey(
    Count.annotateKey({ description: "Events in an answer, 100 by default, 1 to 1000; a stream has no end." })
  ),
  wait: Schema.optionalKey(
    Count.annotateKey({
      description: "Seconds to wait, at most 25, where there is no event yet; the first that comes is answered at once."
    })
  )
}
export interface EventFilter {
  readonly type?: EventType
  readonly resource_id?: string
}
export interface EventQuery extends EventFilter {
  readonly after?: number
  /** Of the header `Last-Event-ID`: wins over `after`. */
  readonly lastEventId?: number
  readonly limit?: number
  readonly wait?: number
}

/** What is told: the rest is known where it happens. */
export interface NewEvent<S extends Schema.Constraint> {
  readonly type: EventType
  readonly id: string
  readonly schema: S
  readonly data: S["Type"]
}
