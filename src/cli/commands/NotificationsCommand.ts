// `notifications`: manages the webhook receivers of relayer events.
import { Console, Effect } from "effect"
import { Command } from "effect/cli"
import { SecureRandom } from "effect/crypto"
import {
  CreateNotification,
  NotificationId,
  UpdateNotification,
  newSigningKey,
  signingKeyBytes
} from "../../domain/notification/Notification.ts"
import type { Notification } from "../../domain/notification/Notification.ts"
import { DeliveriesCommands } from "./DeliveriesCommands.ts"
import * as Field from "../kit/Field.ts"
import type * as List from "../kit/List.ts"
import * as Verb from "../kit/Verb.ts"

const columns: List.Columns<Notification> = {
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
