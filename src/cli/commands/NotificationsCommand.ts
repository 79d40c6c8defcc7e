// `notifications`: manages the webhook receivers of relayer events, and sends their deliveries again.
import { Console, DateTime, Effect } from "effect"
import { Command } from "effect/cli"
import { SecureRandom } from "effect/crypto"
import { newSigningKey, signingKeyBytes, unsigned } from "../../domain/notification/Notification.ts"
import * as Verb from "../kit/Verb.ts"

/** A delivery that is due waits for those of its relayer before it, which are sent first. */
const whenOf = (next: DateTime.Utc): string =>
  DateTime.isPastUnsafe(next) ? "due, after those before it" : DateTime.formatIso(next)

/** Most deliveries on a page. */
const deliveriesPerPage = 100

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

export const NotificationsCommand = Command.make("notifications").pipe(
  Verb.about("Notifications: webhook receivers of relayer events.", "notifications list"),
  Command.withSubcommands([
    Verb.list(
      "list",
      "notifications.list",
      {
        ID: ({ id }) => id,
        TYPE: ({ type }) => type,
        URL: ({ url }) => url,
        SIGNED: ({ has_signing_key }) => (has_signing_key ? "yes" : "no"),
        STATE: ({ paused }) => (paused ? "paused" : "active")
      },
      ["notifications list", "notifications list --all --output json"]
    ),
    Verb.call("get", "notifications.get", ["notifications get ops"]),
    key,
    Verb.call(
      "create",
      "notifications.create",
      [
        "notifications create --id ops --url https://hooks.example.com/relayer --signing-key-file ops.key",
        "notifications key | effect-relayer notifications create --id ops --url https://hooks.example.com/relayer --signing-key-file -",
        "notifications create --data @notification.json"
      ],
      { notices: (_, { data }) => Effect.succeed(data.has_signing_key ? [] : [unsigned]) }
    ),
    Verb.call("update", "notifications.update", [
      "notifications update ops --url https://hooks.example.com/new",
      "notifications update ops --no-paused",
      `notifications update ops --data '{"signing_key": ""}'`
    ]),
    Verb.call("delete", "notifications.delete", ["notifications delete ops", "notifications delete ops --yes"], {
      ask: ({ id }) => `delete the notification ${id} with its deliveries`
    }),
    Verb.list(
      "deliveries",
      "notifications.deliveries",
      {
        ID: ({ id }) => id,
        CREATED: ({ created_at }) => DateTime.formatIso(created_at),
        TYPE: ({ type }) => type,
        RELAYER: ({ relayer_id }) => relayer_id,
        STATE: ({ state }) => state,
        ATTEMPTS: ({ attempts }) => String(attempts.length),
        LAST: ({ attempts: [last] }) => last && `${last.outcome}${last.status === undefined ? "" : ` ${last.status}`}`,
        NEXT: ({ next_attempt_at }) => next_attempt_at && whenOf(next_attempt_at)
      },
      ["notifications deliveries ops --state failed", "notifications deliveries ops --all --output json"],
      { flags: { relayer_id: "relayer", event_id: "event" }, most: deliveriesPerPage }
    ),
    Verb.call("retry", "notifications.retry", ["notifications retry ops 3f0c…"]),
    Verb.call("replay", "notifications.replay", [
      "notifications replay ops --since 2030-01-01T00:00:00Z --until 2030-01-01T06:00:00Z --state failed"
    ]),
    Verb.call("test", "notifications.test", ["notifications test ops"], {
      about: "Send a signed test webhook now; exit code 1 if it is not delivered.",
      failure: ({ data: { outcome, status } }) =>
        outcome === "delivered"
          ? undefined
          : `the test was not delivered: ${outcome}${status === undefined ? "" : ` with ${status}`}`
    })
  ])
)
