// Sends what is due: all instances share the work, and what one that has died was sending is sent by another (ADR 0006).
import { Cause, Effect, FiberSet, Layer, Metric, Random, Schedule } from "effect"
import * as Transaction from "../../../sql/Transaction.ts"
import { Notifications } from "../Notifications.ts"
import { Draining } from "../../lifecycle/Draining.ts"
import * as Metrics from "./DeliveryMetrics.ts"
import * as CommitSignal from "../../lifecycle/CommitSignal.ts"
import { Jobs } from "../../lifecycle/Jobs.ts"
import * as BackOff from "./BackOff.ts"
import { QueueRepo } from "./QueueRepo.ts"
import type { Claimed } from "./QueueRepo.ts"
import { Sender } from "./Sender.ts"
import type { Attempt } from "./Sender.ts"

/** Deliveries at once, of this process. */
const concurrency = 256

/** Deliveries at once to one receiver, each of another relayer. */
const perReceiver = 16

/** What other instances have written, and what is due again, is found so soon. */
const pollEvery = "1 second"

const tidyEvery = "5 seconds"

/** It reads an index of all that is pending. */
const measureEvery = "15 seconds"

/** What is being sent when the process stops has so long to be answered; then another instance sends it. */
const grace = "5 seconds"

/** As long as the lease lasts: what has been sent shall not be sent again because the database was away for a moment. */
const recordAgain = { times: 5, schedule: Schedule.spaced("2 seconds") }

const make = Effect.gen(function* () {
  const queue = yield* QueueRepo
  const sender = yield* Sender
  const notifications = yield* Notifications
  const due = yield* CommitSignal.make("deliveries")
  const draining = yield* Draining
  const jobs = yield* Jobs
  const transaction = yield* Transaction.make

  /** Notification first, then delivery: as who deletes a notification does. */
  const record = Effect.fn("DeliveryJob.record")(function* (claimed: Claimed, attempt: Attempt) {
    const { notification_id } = claimed
    const { outcome } = attempt
    if (outcome === "delivered") yield* queue.recovered(notification_id)
    const isLong = outcome === "delivered" || outcome === "error" ? false : yield* queue.failing(notification_id)
    const wait = { backOff: BackOff.delay(claimed.failures + 1, yield* Random.next), asked: attempt.retryAfter }
    const state = yield* queue.settle(claimed, attempt, wait)
    if (state !== undefined && (outcome === "gone" || isLong)) yield* notifications.pause(notification_id)
    return state
  }, transaction)

  const told = (claimed: Claimed, attempt: Attempt, state: string | undefined) => {
    const { outcome, status, ms } = attempt
    const text =
      state === "failed" ? Effect.logWarning("webhook delivery failed") : Effect.logDebug("webhook attempt recorded")
    return Effect.all([
      Metric.update(Metric.withAttributes(Metrics.webhookDeliveriesTotal, { outcome }), 1),
      Metric.update(Metrics.webhookDeliverySeconds, ms / 1000),
      Effect.annotateLogs(text, {
        notification_id: claimed.notification_id,
        delivery_id: claimed.id,
        outcome,
        ...(status === undefined ? {} : { status })
      })
    ])
  }

  /** Only the sending itself can be interrupted: its result is always written. */
  const deliver = (claimed: Claimed) =>
    Effect.uninterruptibleMask((restore) =>
      restore(sender.send(claimed, claimed)).pipe(
        Effect.onInterrupt(() => queue.release(claimed)),
        Effect.tap((attempt) =>
          record(claimed, attempt).pipe(
            Effect.sandbox,
            Effect.retry(recordAgain),
            Effect.flatMap((state) => told(claimed, attempt, state))
          )
        )
      )
    ).pipe(
      Effect.catchCause((cause) =>
        Cause.hasInterruptsOnly(cause)
          ? Effect.void
          : Effect.annotateLogs(Effect.logError("webhook attempt not recorded", cause), { delivery_id: claimed.id })
      )
    )

  const busy = new Map<string, number>()
  let underWay = 0
  const count = (id: string, change: 1 | -1) => {
    underWay += change
    const now = (busy.get(id) ?? 0) + change
    if (now === 0) busy.delete(id)
    else busy.set(id, now)
  }

  const fibers = yield* FiberSet.make()
  yield* Effect.addFinalizer(() => Effect.timeoutOption(FiberSet.awaitEmpty(fibers), grace))

  const start = (claimed: Claimed) => {
    count(claimed.notification_id, 1)
    const done = Effect.suspend(() => {
      count(claimed.notification_id, -1)
      return due.now
    })
    return FiberSet.run(fibers, Effect.ensuring(deliver(claimed), done))
  }

  /** What has been claimed is sent, whatever else happens. */
  const claim = Effect.gen(function* () {
    const free = draining.isDraining() ? 0 : concurrency - underWay
    if (free === 0) return
    for (const claimed of yield* queue.claim({ free, perReceiver, busy })) yield* start(claimed)
  }).pipe(Effect.uninterruptible)

  const tidy = Effect.gen(function* () {
    if ((yield* queue.expire) > 0) yield* due.now
    yield* queue.prune
  })

  const measure = Effect.flatMap(queue.countPending, (count) => Metric.update(Metrics.webhookDeliveriesPending, count))

  const run = (task: string, work: Effect.Effect<void>, wait: Effect.Effect<void>) =>
    jobs.run({ job: "deliveries", task, work, wait: () => wait })

  yield* run("tidy", tidy, Effect.sleep(tidyEvery))
  yield* run("measure", measure, Effect.sleep(measureEvery))
  yield* run("claim", claim, due.wait(pollEvery))
})

/** Runs until its scope closes. While the instance drains, it claims nothing. */
export const layer = Layer.effectDiscard(make).pipe(Layer.provide([QueueRepo.layer, Sender.layer]))
