// Events: facts about resources that the service publishes in one order.
import { Effect, Schema, SchemaIssue, SchemaTransformation } from "effect"
import { eventTypes } from "../access/Resources.ts"
import { RelayerId } from "../relayer/Relayer.ts"
import { Value } from "../request/ExactJson.ts"
import { field } from "../request/Field.ts"
import { count } from "../request/Page.ts"
import * as Shown from "../request/Shown.ts"
import { Instant, openList, searchText } from "../request/Shown.ts"

/** The types of events that this version of the service publishes. */
export const KnownEventType = Schema.Literals(eventTypes).annotate({
  identifier: "KnownEventType",
  message: `Expected one of ${eventTypes.join(", ")}`,
  description: "What happened to which kind of resource. Webhooks use the same names.",
  examples: ["relayer.paused"]
})
export type KnownEventType = typeof KnownEventType.Type

/** A type as it is read: another version of the service may have published the event. */
export const EventType = openList(KnownEventType).annotate({
  identifier: "EventType",
  description:
    "What happened to which kind of resource. Webhooks use the same names. Later versions of the service may add types.",
  examples: ["relayer.paused"]
})
export type EventType = typeof EventType.Type

export const Event = Schema.Struct({
  id: field(Schema.Natural, "Position in the order of all events, for `after` and `Last-Event-ID`.", 7),
  type: EventType,
  resource_id: field(Shown.Id, "Identifier of the resource that the event is about.", "payouts"),
  at: field(Instant, "When it happened.", "2026-01-02T03:04:05.678Z"),
  request_id: Schema.optionalKey(
    field(
      Shown.Id,
      "The `x-request-id` of the request that caused it. Absent if the service acted by itself.",
      "4f1c2c9e-8f0b-4c56-9d5e-0a7b1f1f2a3b"
    )
  ),
  data: field(Value, "The resource after the event; of a deleted resource, before it.", { id: "payouts", paused: true })
}).annotate({ identifier: "Event", description: "A fact about a resource." })
export type Event = typeof Event.Type

export const defaultEvents = 100
export const maxEvents = 1000

/** Seconds. Below every usual time limit of a request. */
export const maxWait = 25

/** The `id` of an event, or the end of the feed when the request is handled. */
export type Place = number | "latest"

const expectedPlace = "an integer, 0 or more, or latest"

const place = (description: string, usual?: number) =>
  Schema.String.annotate({
    contentMediaType: "application/json",
    contentSchema: {
      anyOf: [{ type: "integer", minimum: 0 }, { const: "latest" }],
      ...(usual === undefined ? {} : { default: usual }),
      description,
      examples: [7]
    }
  }).pipe(
    Schema.decodeTo(
      Schema.Union([Schema.Natural, Schema.Literal("latest")]),
      SchemaTransformation.transformEffect({
        decode: (text: string, options): Effect.Effect<Place, SchemaIssue.Issue> =>
          text === "latest"
            ? Effect.succeed(text)
            : /^\d+$/.test(text)
              ? Effect.succeed(Math.min(Number(text), Number.MAX_SAFE_INTEGER))
              : Effect.fail(new SchemaIssue.InvalidValue({ expected: expectedPlace }, text, options)),
        encode: (position: Place) => Effect.succeed(String(position))
      })
    )
  )

export const EventQuery = {
  after: Schema.optionalKey(
    place(
      "`id` of the last event that was read. 0 starts at the first event, `latest` after the newest one. `Last-Event-ID` takes precedence.",
      0
    )
  ),
  before: Schema.optionalKey(
    place(
      "`id` of an event, or `latest`: the events before it, the newest first. Not together with `after`, `wait` or a stream."
    )
  ),
  type: Schema.optionalKey(
    field(Schema.Array(KnownEventType), "Only events of these types; may be repeated.", ["relayer.paused"])
  ),
  relayer_id: Schema.optionalKey(field(RelayerId, "Only events about this relayer and its transactions.", "payouts")),
  resource_id: Schema.optionalKey(field(searchText, "Only events about this resource.", "payouts")),
  limit: Schema.optionalKey(count("Events in a response, from 1 to 1000. A stream has no end.", 100, defaultEvents)),
  wait: Schema.optionalKey(count("Seconds to wait for the first event if there is none yet, at most 25.", 20, 0))
}
export interface EventFilter {
  readonly type?: ReadonlyArray<KnownEventType>
  readonly resource_id?: string
}
export interface EventQuery extends EventFilter {
  readonly after?: Place
  readonly before?: Place
  readonly relayer_id?: RelayerId
  /** From the header `Last-Event-ID`. Takes precedence over `after`. */
  readonly lastEventId?: number
  readonly limit?: number
  readonly wait?: number
}

/** An event to publish. Its id, time and request are added when it is written. */
export interface NewEvent<S extends Schema.Constraint> {
  readonly type: KnownEventType
  readonly id: string
  readonly schema: S
  readonly data: S["Type"]
}
