// Measures how long events wait for older transactions, and reports a transaction that holds them back for long.
import { Effect, Layer, Metric, Option } from "effect"
import { Conditions } from "../lifecycle/Conditions.ts"
import * as GaugeJob from "../lifecycle/GaugeJob.ts"
import { EventDelayRepo } from "./EventDelayRepo.ts"
import { eventsHeldBack, eventsHeldBackSeconds } from "./EventMetrics.ts"

/** Seconds. Longer than the transactions of requests. */
const patience = 30

const reason = "events wait for a transaction that has been open on the database server for more than 30 seconds"

/** Runs until its scope closes. */
export const layer = Layer.effectDiscard(
  Effect.gen(function* () {
    const repo = yield* EventDelayRepo
    const conditions = yield* Conditions

    const problem = Effect.map(repo.holder, (holder) => ({ reason, details: Option.getOrElse(holder, () => ({})) }))

    const measure = Effect.gen(function* () {
      const { count, seconds } = yield* repo.measure
      yield* Metric.update(eventsHeldBack, count)
      yield* Metric.update(eventsHeldBackSeconds, seconds)
      yield* conditions.report("events", seconds > patience ? yield* problem : undefined)
    })

    yield* GaugeJob.run(eventsHeldBackSeconds.id, measure)
  })
).pipe(Layer.provide(EventDelayRepo.layer))
