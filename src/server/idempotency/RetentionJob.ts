// Deletes stored responses after 24 hours, also if no request with an idempotency key comes.
import { Duration, Effect, Layer } from "effect"
import { Jobs } from "../lifecycle/Jobs.ts"
import { IdempotencyStore } from "./IdempotencyStore.ts"

const interval = Duration.minutes(1)

/** Runs until its scope closes. */
export const layer = Layer.effectDiscard(
  Effect.gen(function* () {
    const { prune } = yield* IdempotencyStore
    const jobs = yield* Jobs
    yield* jobs.run({ job: "retention", task: "idempotency", work: prune, wait: () => Effect.sleep(interval) })
  })
)
