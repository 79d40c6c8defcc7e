// The job `retention`, which deletes what is older than its retention. Each feature adds a task for its own tables.
import { Duration, Effect } from "effect"
import type { Scope } from "effect"
import { Jobs } from "./Jobs.ts"

const interval = Duration.minutes(1)

/**
 * Runs a task until the scope closes. `deleteBatch` deletes a batch that is small enough to lock nothing for long, and returns
 * whether there may be more to delete.
 */
export const run = (
  task: string,
  deleteBatch: Effect.Effect<boolean>
): Effect.Effect<void, never, Jobs | Scope.Scope> =>
  Effect.flatMap(Jobs, (jobs) =>
    jobs.run({
      job: "retention",
      task,
      work: Effect.repeat(deleteBatch, { while: (isMore) => isMore }),
      wait: () => Effect.sleep(interval)
    })
  )
