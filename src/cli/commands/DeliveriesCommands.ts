// `notifications deliveries`, `retry`, `replay` and `test`: list deliveries and send them again.
import { DateTime, Effect, Option, Schema } from "effect"
import { Argument, Command } from "effect/cli"
import {
  DeliveryId,
  DeliveryQuery,
  DeliveryState,
  DeliveryType,
  ReplayDeliveries
} from "../../domain/notification/Delivery.ts"
import type { Delivery } from "../../domain/notification/Delivery.ts"
import { NotificationId } from "../../domain/notification/Notification.ts"
import { RelayerId } from "../../domain/relayer/Relayer.ts"
import * as Body from "../kit/Body.ts"
import { CommandFailed, exitCodes } from "../kit/CommandFailed.ts"
import * as Field from "../kit/Field.ts"
import * as Help from "../kit/Help.ts"
import * as List from "../kit/List.ts"
import * as Print from "../kit/Print.ts"
import * as Verb from "../kit/Verb.ts"

/** A delivery that is due waits for those of its relayer before it, which are sent first. */
const whenOf = (next: DateTime.Utc): string =>
  DateTime.isPastUnsafe(next) ? "due, after those before it" : DateTime.formatIso(next)

const columns: List.Columns<Delivery> = {
  ID: ({ id }) => id,
  CREATED: ({ created_at }) => DateTime.formatIso(created_at),
  TYPE: ({ type }) => type,
  RELAYER: ({ relayer_id }) => relayer_id,
  STATE: ({ state }) => state,
  ATTEMPTS: ({ attempts }) => String(attempts.length),
  LAST: ({ attempts: [last] }) => last && `${last.outcome}${last.status === undefined ? "" : ` ${last.status}`}`,
  NEXT: ({ next_attempt_at }) => next_attempt_at && whenOf(next_attempt_at)
}

const id = Verb.id(NotificationId)

const query = Help.describe(Schema.Struct(DeliveryQuery), {
  state: Field.choice("state", DeliveryState.literals),
  type: Field.of("type", DeliveryType),
  relayer_id: Field.of("relayer", RelayerId),
  event_id: Field.integer("event"),
  limit: Field.integer("limit"),
  cursor: Field.text("cursor")
})

const deliveries = Command.make(
  "deliveries",
  {
    given: List.flags,
    id,
    query
  },
  ({ given, id, query: { cursor, ...filter } }) => {
    const query = { ...(given.all ? { limit: 100 } : {}), ...Field.given(filter) }
    return List.print(given, columns, Field.given({ cursor }), (client, place) =>
      client.notifications.deliveries({
        params: { notification_id: id },
        query: { ...query, ...Field.given({ cursor: Option.fromUndefinedOr(place.cursor) }) }
      })
    )
  }
).pipe(
  Verb.about(
    "List the deliveries of a notification; --output json includes every attempt.",
    "notifications deliveries ops --state failed",
    "notifications deliveries ops --all --output json"
  )
)

const retry = Command.make(
  "retry",
  {
    given: Print.flags,
    id,
    delivery: Argument.String("delivery").pipe(
      Argument.withSchema(DeliveryId),
      Argument.withDescription("Id of the delivery, which is also its webhook-id")
    )
  },
  ({ given, id, delivery }) =>
    Print.one(given, (client) => client.notifications.retry({ params: { notification_id: id, delivery_id: delivery } }))
).pipe(Verb.about("Send a delivery again with the same webhook-id.", "notifications retry ops 3f0c…"))

const replay = Command.make(
  "replay",
  {
    given: Print.flags,
    id,
    body: Body.config(
      ReplayDeliveries,
      {
        since: Field.text("since"),
        until: Field.text("until"),
        state: Field.choice("state", ["delivered", "failed"]),
        dry_run: Field.boolean("dry_run")
      },
      {}
    )
  },
  Effect.fnUntraced(function* ({ given, id, body }) {
    const payload = yield* Body.read(ReplayDeliveries, body)
    return yield* Print.one(given, (client) =>
      client.notifications.replay({ params: { notification_id: id }, payload })
    )
  })
).pipe(
  Verb.about(
    "Send all deliveries of a period again, in their order and with the same webhook-ids.",
    "notifications replay ops --since 2030-01-01T00:00:00Z --until 2030-01-01T06:00:00Z --state failed"
  )
)

const test = Command.make(
  "test",
  { given: Print.flags, id },
  Effect.fnUntraced(function* ({ given, id }) {
    const { data } = yield* Print.one(given, (client) => client.notifications.test({ params: { notification_id: id } }))
    if (data.outcome === "delivered") return
    const status = data.status === undefined ? "" : ` with ${data.status}`
    const message = `the test was not delivered: ${data.outcome}${status}`
    return yield* new CommandFailed({ message, exitCode: exitCodes.refused })
  })
).pipe(Verb.about("Send a signed test webhook now; exit code 1 if it is not delivered.", "notifications test ops"))

export const DeliveriesCommands = [deliveries, retry, replay, test] as const
