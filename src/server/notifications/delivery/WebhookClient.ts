// Sends a signed webhook to a receiver once and returns the outcome.
import { Cause, Clock, Duration, Effect, Redacted, Result, Schema } from "effect"
import { Headers, HttpClientRequest } from "effect/http"
import type { HttpClientError } from "effect/http"
import type { SqlClient } from "effect/sql"
import { createHmac } from "node:crypto"
import type { DeliveryOutcome } from "../../../domain/notification/Delivery.ts"
import { NotificationId } from "../../../domain/notification/Notification.ts"
import * as Rows from "../../../sql/Rows.ts"
import { Outbound, refusal } from "../../../outbound/Outbound.ts"
import { client, query } from "../../../sql/Transaction.ts"
import { Secrets } from "../../secrets/Secrets.ts"
import { openSigningKey } from "../Notifications.ts"

// The table `notifications` as receivers of webhooks: where they are sent, the keys that sign them, and whether receivers are failing.

export const Receiver = Schema.Struct({
  notification_id: NotificationId,
  url: Schema.String,
  /** Sealed. Null if webhooks are not signed. */
  key: Schema.NullOr(Schema.Uint8Array),
  /** Sealed. The key before the last change signs as well for 24 hours. */
  previous_key: Schema.NullOr(Schema.Uint8Array)
})
export type Receiver = typeof Receiver.Type

/** The columns of `Receiver`, from the table `notifications` as `n`. */
export const receiverColumns = (
  sql: SqlClient.SqlClient
) => sql`n.id AS notification_id, n.url, n.signing_key_sealed AS key,
  CASE WHEN n.previous_signing_key_expires_at > clock_timestamp() THEN n.previous_signing_key_sealed END AS previous_key`

const readReceiver = Rows.first(Receiver)
const readFailing = Rows.all(Schema.Struct({ long: Schema.Boolean }))

export const makeReceiversRepo = Effect.gen(function* () {
  const sql = yield* client

  const find = (id: NotificationId) =>
    sql`SELECT ${receiverColumns(sql)} FROM notifications n WHERE n.id = ${id}`.pipe(
      Effect.flatMap(readReceiver),
      query("WebhookClient.find")
    )

  /** Notes a success: the receiver is not failing. */
  const recovered = (id: NotificationId) =>
    sql`UPDATE notifications SET failing_since = NULL WHERE id = ${id} AND failing_since IS NOT NULL`.pipe(
      Effect.asVoid,
      query("WebhookClient.recovered")
    )

  /** Notes a failure, and locks the row. Returns whether all attempts of the last three days have failed. */
  const failing = (id: NotificationId) =>
    sql`
      UPDATE notifications SET failing_since = coalesce(failing_since, clock_timestamp()) WHERE id = ${id}
      RETURNING failing_since <= clock_timestamp() - interval '3 days' AS long`.pipe(
      Effect.flatMap(readFailing),
      Effect.map((rows) => rows.some(({ long }) => long)),
      query("WebhookClient.failing")
    )

  return { find, recovered, failing }
})

// Computes the signature headers of a webhook: those of Standard Webhooks, and `X-Signature`.

/** The prefix of a key in the format of Standard Webhooks. The rest is base64. */
const standardPrefix = "whsec_"

const standardKey = (key: string) =>
  key.startsWith(standardPrefix) ? Buffer.from(key.slice(standardPrefix.length), "base64") : Buffer.from(key)

const hmac = (key: string | Uint8Array, text: string) => createHmac("sha256", key).update(text).digest("base64")

export interface SignedWebhook {
  readonly id: string
  readonly body: string
  /** Seconds since 1970. */
  readonly timestamp: number
  /** The current key first. Empty: the webhook is not signed. */
  readonly keys: ReadonlyArray<Redacted.Redacted>
}

export const signatureHeaders = ({ id, body, timestamp, keys }: SignedWebhook): Record<string, string> => {
  const identity = { "webhook-id": id, "webhook-timestamp": String(timestamp) }
  const [current, ...previous] = keys.map(Redacted.value)
  if (current === undefined) return identity
  const signature = (key: string) => `v1,${hmac(standardKey(key), `${id}.${timestamp}.${body}`)}`
  return {
    ...identity,
    "webhook-signature": [current, ...previous].map(signature).join(" "),
    "x-signature": hmac(current, body)
  }
}

// Computes when a failed delivery is attempted again.

const shortestDelay = 5_000
const longestDelay = Duration.toMillis("1 hour")

/** Milliseconds until the next attempt after `failures`, from 1; `random` is from 0 to 1. */
export const backOffDelay = (failures: number, random: number): number =>
  Math.round(Math.min(shortestDelay * 2 ** (failures - 1), longestDelay) * (0.75 + 0.25 * random))

/** Milliseconds that a `Retry-After` header (RFC 9110, section 10.2.3) asks for. `now` is in milliseconds since 1970. */
export const askedDelay = (header: string | undefined, now: number): number | undefined => {
  const parsed = Result.getOrUndefined(Headers.parseRetryAfter(header ?? ""))
  return parsed === undefined ? undefined : Duration.toMillis(Headers.retryAfterDelay(parsed, now))
}

export interface Message {
  readonly id: string
  /** Such as `relayer.disabled`. */
  readonly event: string
  readonly body: string
}

export interface WebhookAttempt {
  readonly outcome: DeliveryOutcome
  readonly ms: number
  readonly status?: number
  readonly answer?: string
  /** Milliseconds that the receiver asks to wait before the next attempt. */
  readonly retryAfter?: number
}

/** The time limit of an attempt, from the DNS lookup to the last byte of the response. */
const timeout = "10 seconds"

/** The stored part of a response body, in UTF-16 code units. */
const maxAnswer = 1024

/** PostgreSQL stores no NUL characters and no lone surrogates. */
const storable = (text: string) => text.slice(0, maxAnswer).replaceAll("\0", "\u{fffd}").toWellFormed()

/** A code of the operating system, such as ECONNREFUSED. */
const systemError = /^[A-Z][A-Z_]+$/

const noAnswer = (error: HttpClientError.HttpClientError | Cause.TimeoutError) => {
  if (Cause.isTimeoutError(error) || Cause.isTimeoutError(error.reason.cause)) return { outcome: "timeout" as const }
  const refused = refusal(error)
  if (refused !== undefined) return { outcome: "refused" as const, answer: refused.message }
  const code = String((error.reason.cause as { readonly code?: unknown } | undefined)?.code)
  return { outcome: "unreachable" as const, ...(systemError.test(code) ? { answer: code } : {}) }
}

const outcomeOf = (status: number): DeliveryOutcome => {
  if (status >= 200 && status < 300) return "delivered"
  return status === 410 ? "gone" : "rejected"
}

/** `Retry-After` is only read with the statuses Too Many Requests and Service Unavailable. */
const asking = new Set([429, 503])

export const make = Effect.gen(function* () {
  const secrets = yield* Secrets
  const { client, refuse } = yield* Outbound

  const keysOf = Effect.fnUntraced(function* ({ notification_id, url, key, previous_key }: Receiver) {
    const receiver = { id: notification_id, url }
    const keys: Array<Redacted.Redacted> = []
    if (key !== null) keys.push(yield* openSigningKey(secrets, receiver, key, "signing_key"))
    if (key !== null && previous_key !== null) {
      keys.push(yield* openSigningKey(secrets, receiver, previous_key, "previous_signing_key"))
    }
    return keys
  })

  const exchange = Effect.fnUntraced(
    function* ({ id, event, body }: Message, receiver: Receiver) {
      // The operator may have removed the host from the list since the URL was accepted.
      const message = refuse(receiver.url, true)
      if (message !== undefined) return { outcome: "refused" as const, answer: message }
      const now = yield* Clock.currentTimeMillis
      const keys = yield* keysOf(receiver)
      const request = HttpClientRequest.post(receiver.url).pipe(
        HttpClientRequest.setHeaders({
          ...signatureHeaders({ id, body, timestamp: Math.floor(now / 1000), keys }),
          "webhook-event-type": event,
          "user-agent": "effect-relayer"
        }),
        HttpClientRequest.bodyText(body, "application/json")
      )
      const response = yield* client.execute(request)
      const { status, headers } = response
      // A body that is too long or incomplete does not change the outcome, which depends on the status.
      const answer = yield* Effect.option(response.text)
      const retryAfter = asking.has(status)
        ? askedDelay(headers["retry-after"], yield* Clock.currentTimeMillis)
        : undefined
      return {
        outcome: outcomeOf(status),
        status,
        ...(answer._tag === "None" || answer.value === "" ? {} : { answer: storable(answer.value) }),
        ...(retryAfter === undefined ? {} : { retryAfter })
      }
    },
    Effect.timeout(timeout),
    Effect.catchTag("SecretUnreadable", ({ message }) =>
      Effect.logWarning("webhook not sent because its signing key does not open").pipe(
        Effect.annotateLogs({ reason: message }),
        Effect.as({ outcome: "error" as const, answer: message })
      )
    ),
    Effect.catch((error) => Effect.succeed(noAnswer(error))),
    Effect.catchDefect((defect) =>
      Effect.as(Effect.logError("webhook not sent", Cause.die(defect)), { outcome: "error" as const })
    )
  )

  /** Follows no redirects. A failure is an attempt with its outcome, not an error. */
  const send = Effect.fn("WebhookClient.send")(function* (message: Message, receiver: Receiver) {
    const start = yield* Clock.currentTimeNanos
    const attempt = yield* exchange(message, receiver)
    const ms = Math.round(Number((yield* Clock.currentTimeNanos) - start) / 1e6)
    const made: WebhookAttempt = { ...attempt, ms }
    return made
  })

  return { send }
})
