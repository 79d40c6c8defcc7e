// Attempts to send a delivery: sends it, records the result, and pauses receivers that do not want webhooks.
import { Cause, Effect, Metric, Option, Random, Schedule } from "effect"
import type { DeliveryState } from "../../../domain/notification/Delivery.ts"
import * as Transaction from "../../../sql/Transaction.ts"
import { Notifications } from "../Notifications.ts"
import * as BackOff from "./BackOff.ts"
import * as QueueRepo from "./QueueRepo.ts"
import type { Claimed } from "./QueueRepo.ts"
import * as ReceiversRepo from "./ReceiversRepo.ts"
import * as WebhookClient from "./WebhookClient.ts"
import type { WebhookAttempt } from "./WebhookClient.ts"

export const webhookDeliveriesTotal = Metric.counter("webhook_deliveries_total", {
  description: "Attempts to send a webhook, by outcome.",
  incremental: true
})

export const webhookDeliverySeconds = Metric.histogram("webhook_delivery_seconds", {
  description: "Time of an attempt to send a webhook, in seconds.",
  boundaries: [0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10]
})

/** While the lease lasts: if the database is away for a moment, a webhook that arrived must not be sent again. */
const recordAgain = { times: 5, schedule: Schedule.spaced("2 seconds") }

const report = (claimed: Claimed, { outcome, status, ms }: WebhookAttempt, state: Option.Option<DeliveryState>) => {
  const isGivenUp = Option.contains(state, "failed")
  return Effect.all([
    Metric.update(Metric.withAttributes(webhookDeliveriesTotal, { outcome }), 1),
    Metric.update(webhookDeliverySeconds, ms / 1000),
    Effect.annotateLogs(
      isGivenUp ? Effect.logWarning("webhook delivery failed") : Effect.logDebug("webhook attempt recorded"),
      {
        notification_id: claimed.notification_id,
        delivery_id: claimed.id,
        outcome,
        ...(status === undefined ? {} : { status })
      }
    )
  ])
}

export const make = Effect.gen(function* () {
  const queue = yield* QueueRepo.make
  const receivers = yield* ReceiversRepo.make
  const webhooks = yield* WebhookClient.make
  const notifications = yield* Notifications
  const transaction = yield* Transaction.make

  /** Returns whether the receiver has failed for so long that it is paused. A fault of this service does not count. */
  const noteReceiver = ({ notification_id }: Claimed, { outcome }: WebhookAttempt) => {
    if (outcome === "delivered") return Effect.as(receivers.recovered(notification_id), false)
    return outcome === "error" ? Effect.succeed(false) : receivers.failing(notification_id)
  }

  /** Locks the notification before the delivery, in the same order as the deletion of a notification. */
  const record = Effect.fn("DeliveryAttempts.record")(function* (claimed: Claimed, attempt: WebhookAttempt) {
    const isLong = yield* noteReceiver(claimed, attempt)
    const wait = { backOff: BackOff.delay(claimed.failures + 1, yield* Random.next), asked: attempt.retryAfter }
    const state = yield* queue.settle(claimed, attempt, wait)
    if (Option.isSome(state) && (attempt.outcome === "gone" || isLong)) {
      yield* notifications.pause(claimed.notification_id)
    }
    return state
  }, transaction)

  const recordAndReport = (claimed: Claimed, attempt: WebhookAttempt) =>
    record(claimed, attempt).pipe(
      Effect.sandbox,
      Effect.retry(recordAgain),
      Effect.flatMap((state) => report(claimed, attempt, state))
    )

  /** Only the sending can be interrupted, which releases the claim. The result of a finished attempt is always recorded. */
  return (claimed: Claimed) =>
    Effect.uninterruptibleMask((restore) =>
      restore(webhooks.send(claimed, claimed)).pipe(
        Effect.onInterrupt(() => queue.release(claimed)),
        Effect.flatMap((attempt) => recordAndReport(claimed, attempt))
      )
    ).pipe(
      Effect.asVoid,
      Effect.catchCause((cause) =>
        Cause.hasInterruptsOnly(cause)
          ? Effect.void
          : Effect.annotateLogs(Effect.logError("webhook attempt not recorded", cause), { delivery_id: claimed.id })
      )
    )
})
