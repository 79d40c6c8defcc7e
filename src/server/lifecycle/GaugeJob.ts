// Measures gauges that need the database, in the background: a scrape does not wait for the database.
import { Duration, Effect } from "effect"
import type { Scope } from "effect"
import { Jobs } from "./Jobs.ts"

/** At least as often as scrapers usually read. */
const interval = Duration.seconds(10)

/** Measures `gauge` until the scope closes. */
export const run = (gauge: string, measure: Effect.Effect<void>): Effect.Effect<void, never, Jobs | Scope.Scope> =>
  Effect.flatMap(Jobs, (jobs) =>
    jobs.run({ job: "gauges", task: gauge, work: measure, wait: () => Effect.sleep(interval) })
  )
