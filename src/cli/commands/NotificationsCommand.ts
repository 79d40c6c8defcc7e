// `notifications`: manages the webhook receivers of relayer events.
import { Effect } from "effect"
import { Command } from "effect/cli"
import { CreateNotification, NotificationId, UpdateNotification } from "../../domain/notification/Notification.ts"
import type { Notification } from "../../domain/notification/Notification.ts"
import * as Body from "../kit/Body.ts"
import { DeliveriesCommands } from "./DeliveriesCommands.ts"
import * as Confirm from "../kit/Confirm.ts"
import * as Field from "../kit/Field.ts"
import * as List from "../kit/List.ts"
import * as IfMatch from "../kit/IfMatch.ts"
import * as Print from "../kit/Print.ts"
import * as Verb from "../kit/Verb.ts"

const columns: List.Columns<Notification> = {
  ID: ({ id }) => id,
  TYPE: ({ type }) => type,
  URL: ({ url }) => url,
  SIGNED: ({ has_signing_key }) => (has_signing_key ? "yes" : "no"),
  STATE: ({ paused }) => (paused ? "paused" : "active")
}

const list = Command.make("list", { given: List.flags, pages: List.pageFlags }, ({ given, pages }) =>
  List.print(given, columns, List.start(given.all, pages), (client, query) => client.notifications.list({ query }))
).pipe(Verb.about("List notifications.", "notifications list", "notifications list --all --output json"))

const url = Field.text("url")

const paused = Field.boolean("paused")

const secrets = {
  signing_key: Field.secret("signing-key-file")
}

const create = Command.make(
  "create",
  {
    given: Print.flags,
    body: Body.config(CreateNotification, { id: Field.text("id"), url }, secrets)
  },
  Effect.fnUntraced(function* ({ given, body }) {
    const payload = yield* Body.read(CreateNotification, body)
    return yield* Print.one(given, (client) => client.notifications.create({ payload }))
  })
).pipe(
  Verb.about(
    "Create a notification.",
    "notifications create --id ops --url https://hooks.example.com/relayer --signing-key-file ops.key",
    "notifications create --data @notification.json"
  )
)

const target = { given: Print.flags, id: Verb.id(NotificationId), ifMatch: IfMatch.flag }

const update = Command.make(
  "update",
  { ...target, body: Body.config(UpdateNotification, { url, paused }, secrets) },
  Effect.fnUntraced(function* ({ given, id, ifMatch, body }) {
    const payload = yield* Body.patch(UpdateNotification, body)
    return yield* Print.one(given, (client) =>
      client.notifications.update({ params: { notification_id: id }, headers: IfMatch.headers(ifMatch), payload })
    )
  })
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
    create,
    update,
    Command.make("delete", { ...target, yes: Confirm.flag }, ({ given, id, ifMatch, yes }) =>
      Effect.andThen(
        Confirm.ask(yes, `delete the notification ${id} with its deliveries`),
        Print.one(given, (client) =>
          client.notifications.delete({ params: { notification_id: id }, headers: IfMatch.headers(ifMatch) })
        )
      )
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
