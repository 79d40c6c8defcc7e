// Reports whether a load balancer should send requests to this instance.
import { Context, Effect, Fiber, Layer } from "effect"
import { SqlClient } from "effect/sql"
import * as Batcher from "../../sql/batch/Batcher.ts"
import { RunningVersion } from "../observability/Gauges.ts"
import { NotReady } from "../../api/SystemApi.ts"
import type { Readiness as Report } from "../../api/SystemApi.ts"
import { isCompatibleSchema } from "../../sql/Migrate.ts"
import { Conditions, Draining, Jobs, worstStatus } from "./Lifecycle.ts"
import type { Problem } from "./Lifecycle.ts"

/** A database that takes longer to answer the probe counts as unavailable. */
const timeout = "2 seconds"

const status = (healthy: boolean) => ({ status: healthy ? ("healthy" as const) : ("unhealthy" as const) })

const condition = (problem: Problem | undefined) => ({
  ...status(problem === undefined),
  ...(problem === undefined ? {} : { reason: problem.reason })
})

export class Readiness extends Context.Service<Readiness, { readonly check: Effect.Effect<Report, NotReady> }>()(
  "effect-relayer/server/lifecycle/Readiness"
) {
  /** @internal */
  static readonly layer = Layer.effect(
    Readiness,
    Effect.gen(function* () {
      const version = yield* RunningVersion
      const draining = yield* Draining
      const sql = yield* SqlClient.SqlClient
      const { statuses } = yield* Jobs
      const { problems } = yield* Conditions

      /** The query is interrupted in the background: if the database is frozen, interrupting takes longer than the timeout. */
      const probe = Effect.gen(function* () {
        const query = yield* Effect.forkDetach(isCompatibleSchema)
        return yield* Fiber.join(query).pipe(
          Effect.timeout(timeout),
          Effect.ensuring(Effect.sync(() => query.interruptUnsafe()))
        )
      }).pipe(
        Effect.catchCause(() => Effect.succeed(false)),
        Effect.provideService(SqlClient.SqlClient, sql)
      )

      /** Anybody may ask for readiness, so concurrent requests share one query. */
      const answers = yield* Batcher.make<void, boolean>(sql, {
        all: (requests) => Effect.map(probe, (isAnswering) => requests.map(() => isAnswering))
      })
      const database = answers()

      const check = Effect.gen(function* () {
        const isAnswering = yield* database
        const accepting = !draining.isDraining()
        const ready = isAnswering && accepting
        const each = yield* statuses
        const jobs = { status: worstStatus(Object.values(each)), ...each }
        const { audit, events, rows } = yield* problems
        // Taking this instance out of the balancer would help neither. If all instances were taken out, the API would be gone.
        const isDegraded = [audit, events, rows].some((problem) => problem !== undefined) || jobs.status === "unhealthy"
        const degraded = isDegraded ? { status: "degraded" as const } : status(true)
        const readiness: Report = {
          ready,
          ...(ready ? degraded : status(false)),
          version,
          components: {
            database: status(isAnswering),
            process: status(accepting),
            jobs,
            audit: condition(audit),
            events: condition(events),
            rows: condition(rows)
          }
        }
        return ready ? readiness : yield* new NotReady({ readiness })
      }).pipe(Effect.withSpan("Readiness.check"))

      return Readiness.of({ check })
    })
  )
}
