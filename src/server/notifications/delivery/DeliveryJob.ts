// The job that sends due deliveries. All instances share the work; an instance takes over from one that has died (ADR 0006).
import { Effect, FiberSet, Layer, Metric } from "effect"
import { commitSignalOf, Draining, Jobs } from "../../lifecycle/Lifecycle.ts"
import * as DeliveryAttempts from "./DeliveryAttempts.ts"
import * as DeliverySlots from "./DeliverySlots.ts"
import * as QueueRepo from "./QueueRepo.ts"
import type { Claimed } from "./QueueRepo.ts"
import * as QueueUpkeepRepo from "./QueueUpkeepRepo.ts"

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

const make = Effect.gen(function* () {
  const queue = yield* QueueRepo.make
  const upkeep = yield* QueueUpkeepRepo.make
  const deliver = yield* DeliveryAttempts.make
  const due = yield* commitSignalOf("deliveries")
  const draining = yield* Draining
  const jobs = yield* Jobs
  const slots = DeliverySlots.make()
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
export const layer = Layer.effectDiscard(make)
