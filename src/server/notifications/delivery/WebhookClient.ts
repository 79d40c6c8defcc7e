// Sends a signed webhook once and returns the outcome.
import { Cause, Clock, Effect } from "effect"
import type { Redacted } from "effect"
import { HttpClientRequest } from "effect/http"
import type { HttpClientError } from "effect/http"
import type { DeliveryOutcome } from "../../../domain/notification/Delivery.ts"
import { Outbound, refusal } from "../../../outbound/Outbound.ts"
import * as SigningKeys from "../SigningKeys.ts"
import { Secrets } from "../../secrets/Secrets.ts"
import * as BackOff from "./BackOff.ts"
import type { Receiver } from "./ReceiversRepo.ts"
import * as Signatures from "./Signatures.ts"

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
    if (key !== null) keys.push(yield* SigningKeys.open(secrets, receiver, key, "signing_key"))
    if (key !== null && previous_key !== null) {
      keys.push(yield* SigningKeys.open(secrets, receiver, previous_key, "previous_signing_key"))
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
          ...Signatures.headers({ id, body, timestamp: Math.floor(now / 1000), keys }),
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
        ? BackOff.retryAfter(headers["retry-after"], yield* Clock.currentTimeMillis)
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
