// The job `retention`, which deletes what is older than its retention. Each feature adds a task for its own tables.
import { Duration, Effect } from "effect"
import type { Scope } from "effect"
import { Jobs } from "./Jobs.ts"

/** The time between two rounds of a task. */
export const interval = Duration.minutes(1)

const deleteAll = Effect.fnUntraced(function* (task: string, batch: number, deleteBatch: Effect.Effect<number>) {
  let rows = 0
  for (;;) {
    const count = yield* deleteBatch
    rows += count
    if (count < batch) break
  }
  if (rows > 0) yield* Effect.annotateLogs(Effect.logInfo("old rows deleted"), { task, rows })
})

/**
 * Runs a task until the scope closes. `deleteBatch` deletes at most `batch` rows, few enough to lock nothing for long, and returns
 * how many it has deleted. The log says how many rows a round has deleted.
 */
export const run = (
  task: string,
  batch: number,
  deleteBatch: Effect.Effect<number>
): Effect.Effect<void, never, Jobs | Scope.Scope> =>
  Effect.flatMap(Jobs, (jobs) =>
    jobs.run({
      job: "retention",
      task,
      work: deleteAll(task, batch, deleteBatch),
      wait: () => Effect.sleep(interval)
    })
  )
