// Measures how long events wait for older transactions, and reports a transaction that holds them back for long.
import { Effect, Layer, Metric, Option } from "effect"
import { Conditions } from "../lifecycle/Lifecycle.ts"
import { measureGauge } from "../lifecycle/SharedJobs.ts"
import * as EventDelayRepo from "./EventDelayRepo.ts"

export const eventsHeldBack = Metric.gauge("events_held_back", {
  description: "Events that no reader sees yet, because an older transaction on the database server is still open."
})

export const eventsHeldBackSeconds = Metric.gauge("events_held_back_seconds", {
  description: "Age of the oldest event that no reader sees yet, in seconds; 0 if readers see all."
})

/** Seconds. Longer than the transactions of requests. */
const patience = 30

const reason = "events wait for a transaction that has been open on the database server for more than 30 seconds"

/** Runs until its scope closes. */
export const layer = Layer.effectDiscard(
  Effect.gen(function* () {
    const repo = yield* EventDelayRepo.make
    const conditions = yield* Conditions

    const problem = Effect.map(repo.holder, (holder) => ({ reason, details: Option.getOrElse(holder, () => ({})) }))

    const measure = Effect.gen(function* () {
      const { count, seconds } = yield* repo.measure
      yield* Metric.update(eventsHeldBack, count)
      yield* Metric.update(eventsHeldBackSeconds, seconds)
      yield* conditions.report("events", seconds > patience ? yield* problem : undefined)
    })

    yield* measureGauge(eventsHeldBackSeconds.id, measure)
  })
)
