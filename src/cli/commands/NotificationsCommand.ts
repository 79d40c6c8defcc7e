// `notifications`: manages the webhook receivers of relayer events, and sends their deliveries again.
import { Console, DateTime, Effect, Option, Schema } from "effect"
import { Argument, Command } from "effect/cli"
import { SecureRandom } from "effect/crypto"
import {
  DeliveryId,
  DeliveryQuery,
  DeliveryState,
  DeliveryType,
  ReplayDeliveries
} from "../../domain/notification/Delivery.ts"
import type { Delivery } from "../../domain/notification/Delivery.ts"
import {
  CreateNotification,
  newSigningKey,
  NotificationId,
  signingKeyBytes,
  UpdateNotification
} from "../../domain/notification/Notification.ts"
import type { Notification } from "../../domain/notification/Notification.ts"
import { RelayerId } from "../../domain/relayer/Relayer.ts"
import * as Field from "../kit/Field.ts"
import { bodyConfig, describeFlags, readBody } from "../kit/Field.ts"
import * as Print from "../kit/Print.ts"
import { listFlags, printList } from "../kit/Print.ts"
import type { ListColumns } from "../kit/Print.ts"
import { CommandFailed, exitCodes } from "../kit/Terminal.ts"
import * as Verb from "../kit/Verb.ts"

// `notifications deliveries`, `retry`, `replay` and `test`: list deliveries and send them again.

/** A delivery that is due waits for those of its relayer before it, which are sent first. */
const whenOf = (next: DateTime.Utc): string =>
  DateTime.isPastUnsafe(next) ? "due, after those before it" : DateTime.formatIso(next)

const deliveryColumns: ListColumns<Delivery> = {
  ID: ({ id }) => id,
  CREATED: ({ created_at }) => DateTime.formatIso(created_at),
  TYPE: ({ type }) => type,
  RELAYER: ({ relayer_id }) => relayer_id,
  STATE: ({ state }) => state,
  ATTEMPTS: ({ attempts }) => String(attempts.length),
  LAST: ({ attempts: [last] }) => last && `${last.outcome}${last.status === undefined ? "" : ` ${last.status}`}`,
  NEXT: ({ next_attempt_at }) => next_attempt_at && whenOf(next_attempt_at)
}

const deliveriesOf = Verb.id(NotificationId)

const query = describeFlags(Schema.Struct(DeliveryQuery), {
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
    given: listFlags,
    id: deliveriesOf,
    query
  },
  ({ given, id, query: { cursor, ...filter } }) => {
    const query = { ...(given.all ? { limit: 100 } : {}), ...Field.given(filter) }
    return printList(given, deliveryColumns, Field.given({ cursor }), (client, place) =>
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
    id: deliveriesOf,
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
    id: deliveriesOf,
    body: bodyConfig(
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
    const payload = yield* readBody(ReplayDeliveries, body)
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
  { given: Print.flags, id: deliveriesOf },
  Effect.fnUntraced(function* ({ given, id }) {
    const { data } = yield* Print.one(given, (client) => client.notifications.test({ params: { notification_id: id } }))
    if (data.outcome === "delivered") return
    const status = data.status === undefined ? "" : ` with ${data.status}`
    const message = `the test was not delivered: ${data.outcome}${status}`
    return yield* new CommandFailed({ message, exitCode: exitCodes.refused })
  })
).pipe(Verb.about("Send a signed test webhook now; exit code 1 if it is not delivered.", "notifications test ops"))

const DeliveriesCommands = [deliveries, retry, replay, test] as const

const columns: ListColumns<Notification> = {
  ID: ({ id }) => id,
  TYPE: ({ type }) => type,
  URL: ({ url }) => url,
  SIGNED: ({ has_signing_key }) => (has_signing_key ? "yes" : "no"),
  STATE: ({ paused }) => (paused ? "paused" : "active")
}

const list = Verb.list(columns, (client, query) => client.notifications.list({ query })).pipe(
  Verb.about("List notifications.", "notifications list", "notifications list --all --output json")
)

const url = Field.text("url")

const paused = Field.boolean("paused")

const secrets = {
  signing_key: Field.secret("signing-key-file")
}

/** It calls no service: the key goes to a file, and from there to the service and to the receiver. */
const key = Command.make("key", {}, () =>
  SecureRandom.SecureRandom.pipe(
    Effect.flatMap((random) => random.randomBytes(signingKeyBytes)),
    Effect.flatMap((bytes) => Console.log(newSigningKey(bytes))),
    Effect.provide(SecureRandom.layerWebCrypto)
  )
).pipe(
  Verb.about(
    "Print a new signing key, which the libraries of Standard Webhooks take as it is.",
    "notifications key > ops.key"
  )
)

const create = Verb.create(
  { schema: CreateNotification, fields: { id: Field.text("id"), url }, secrets },
  (client, payload) => client.notifications.create({ payload })
).pipe(
  Verb.about(
    "Create a notification.",
    "notifications create --id ops --url https://hooks.example.com/relayer --signing-key-file ops.key",
    "notifications key | effect-relayer notifications create --id ops --url https://hooks.example.com/relayer --signing-key-file -",
    "notifications create --data @notification.json"
  )
)

const id = Verb.id(NotificationId)

const update = Verb.update(
  id,
  { schema: UpdateNotification, fields: { url, paused }, secrets },
  (client, payload, { id, headers }) =>
    client.notifications.update({ params: { notification_id: id }, headers, payload })
).pipe(
  Verb.about(
    "Change a notification. Fields that are not named stay as they are.",
    "notifications update ops --url https://hooks.example.com/new",
    "notifications update ops --no-paused",
    `notifications update ops --data '{"signing_key": ""}'`
  )
)

export const NotificationsCommand = Command.make("notifications").pipe(
  Verb.about("Notifications: webhook receivers of relayer events.", "notifications list"),
  Command.withSubcommands([
    list,
    Verb.onOne("get", NotificationId, (client, id) =>
      client.notifications.get({ params: { notification_id: id } })
    ).pipe(Verb.about("Get a notification.", "notifications get ops")),
    key,
    create,
    update,
    Verb.remove(
      Verb.versioned(id),
      ({ id }) => `delete the notification ${id} with its deliveries`,
      (client, { id, headers }) => client.notifications.delete({ params: { notification_id: id }, headers })
    ).pipe(
      Verb.about(
        "Delete a notification that no relayer uses; asks first.",
        "notifications delete ops",
        "notifications delete ops --yes"
      )
    ),
    ...DeliveriesCommands
  ])
)
