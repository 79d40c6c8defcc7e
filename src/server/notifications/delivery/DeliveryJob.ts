// The job that sends due deliveries. All instances share the work; an instance takes over from one that has died (ADR 0006).
import { Cause, Effect, FiberSet, Layer, Metric, Option, Random, Schedule } from "effect"
import type { DeliveryState } from "../../../domain/notification/Delivery.ts"
import type { NotificationId } from "../../../domain/notification/Notification.ts"
import * as Transaction from "../../../sql/Transaction.ts"
import { commitSignalOf, Draining, Jobs } from "../../lifecycle/Lifecycle.ts"
import { Notifications } from "../Notifications.ts"
import * as QueueRepo from "./QueueRepo.ts"
import { makeQueueUpkeepRepo } from "./QueueRepo.ts"
import type { Claimed } from "./QueueRepo.ts"
import * as WebhookClient from "./WebhookClient.ts"
import { backOffDelay, makeReceiversRepo } from "./WebhookClient.ts"
import type { WebhookAttempt } from "./WebhookClient.ts"

// Counts the deliveries that this instance is sending, in all and by receiver.

/** Deliveries that one instance sends concurrently. */
const sendLimit = 256

const makeDeliverySlots = () => {
  const busy = new Map<NotificationId, number>()
  let total = 0

  const add = (id: NotificationId, change: 1 | -1) => {
    total += change
    const count = (busy.get(id) ?? 0) + change
    if (count === 0) busy.delete(id)
    else busy.set(id, count)
  }

  return {
    /** The number of deliveries being sent, by notification. */
    busy: busy as ReadonlyMap<NotificationId, number>,
    free: () => sendLimit - total,
    take: (id: NotificationId) => add(id, 1),
    giveBack: (id: NotificationId) => add(id, -1)
  }
}

// Attempts to send a delivery: sends it, records the result, and pauses receivers that do not want webhooks.

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

const makeDeliveryAttempts = Effect.gen(function* () {
  const queue = yield* QueueRepo.make
  const receivers = yield* makeReceiversRepo
  const webhooks = yield* WebhookClient.make
  const notifications = yield* Notifications
  const transaction = yield* Transaction.make

  /** Returns whether the receiver has failed for so long that it is paused. A fault of this service does not count. */
  const noteReceiver = ({ notification_id }: Claimed, { outcome }: WebhookAttempt) => {
    if (outcome === "delivered") return Effect.as(receivers.recovered(notification_id), false)
    return outcome === "error" ? Effect.succeed(false) : receivers.failing(notification_id)
  }

  /** Locks the notification before the delivery, in the same order as the deletion of a notification. */
  const record = Effect.fn("DeliveryJob.record")(function* (claimed: Claimed, attempt: WebhookAttempt) {
    const isLong = yield* noteReceiver(claimed, attempt)
    const wait = { backOff: backOffDelay(claimed.failures + 1, yield* Random.next), asked: attempt.retryAfter }
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

export const webhookDeliveriesPending = Metric.gauge("webhook_deliveries_pending", {
  description: "Pending deliveries of all instances."
})

/** Deliveries that one instance sends to one receiver concurrently, each for another relayer. */
const perReceiver = 16

/** Deliveries that other instances wrote, and those that became due, are found within this time. */
const pollEvery = "1 second"

const tidyEvery = "5 seconds"

/** Nothing shows the deliveries of a notification that was deleted, so there is no hurry. */
const clearEvery = "5 seconds"

/** Counting reads an index of all pending deliveries. */
const measureEvery = "15 seconds"

/** When the job stops, attempts have this long to end. After that, another instance sends the delivery. */
const grace = "5 seconds"

const makeJob = Effect.gen(function* () {
  const queue = yield* QueueRepo.make
  const upkeep = yield* makeQueueUpkeepRepo
  const deliver = yield* makeDeliveryAttempts
  const due = yield* commitSignalOf("deliveries")
  const draining = yield* Draining
  const jobs = yield* Jobs
  const slots = makeDeliverySlots()
  const fibers = yield* FiberSet.make()
  yield* Effect.addFinalizer(() => Effect.timeoutOption(FiberSet.awaitEmpty(fibers), grace))

  const start = (claimed: Claimed) => {
    slots.take(claimed.notification_id)
    const done = Effect.suspend(() => {
      slots.giveBack(claimed.notification_id)
      return due.now
    })
    return FiberSet.run(fibers, Effect.ensuring(deliver(claimed), done))
  }

  /** Uninterruptible: every claimed delivery is started. */
  const claim = Effect.gen(function* () {
    const free = draining.isDraining() ? 0 : slots.free()
    if (free === 0) return
    for (const claimed of yield* queue.claim({ free, perReceiver, busy: slots.busy })) yield* start(claimed)
  }).pipe(Effect.uninterruptible)

  /** An expired delivery may have held up the next one of its lane. */
  const tidy = Effect.gen(function* () {
    if ((yield* upkeep.expire) > 0) yield* due.now
    yield* upkeep.prune
  })

  const clear = Effect.asVoid(Effect.repeat(upkeep.clear, { while: (isMore) => isMore }))

  const measure = Effect.flatMap(upkeep.countPending, (count) => Metric.update(webhookDeliveriesPending, count))

  const run = (task: string, work: Effect.Effect<void>, wait: Effect.Effect<void>) =>
    jobs.run({ job: "deliveries", task, work, wait: () => wait })

  yield* run("tidy", tidy, Effect.sleep(tidyEvery))
  yield* run("clear", clear, Effect.sleep(clearEvery))
  yield* run("measure", measure, Effect.sleep(measureEvery))
  yield* run("claim", claim, due.wait(pollEvery))
})

/** Runs until its scope closes. While the instance drains, it claims nothing. */
export const layer = Layer.effectDiscard(makeJob)
