// Whether a balancer should send requests here.
import { Context, Effect, Fiber, Layer } from "effect"
import { SqlClient } from "effect/sql"
import { NotReady } from "../../api/SystemApi.ts"
import type { Readiness as Report } from "../../api/SystemApi.ts"
import * as Health from "../../sql/Health.ts"
import { Draining } from "./Draining.ts"
import { Workers, worstStatus } from "./Jobs.ts"

/** A probe is worth no more than this. */
const timeout = "2 seconds"

const status = (healthy: boolean) => ({ status: healthy ? ("healthy" as const) : ("unhealthy" as const) })

export class Readiness extends Context.Service<Readiness, { readonly check: Effect.Effect<Report, NotReady> }>()(
  "effect-relayer/server/lifecycle/Readiness"
) {
  static readonly layer = Layer.effect(
    Readiness,
    Effect.gen(function* () {
      const draining = yield* Draining
      const sql = yield* SqlClient.SqlClient
      const { statuses } = yield* Workers

      /** Nobody waits for a question to be given up: of a database that is frozen, that takes longer than asking. */
      const database = Effect.gen(function* () {
        const asked = yield* Effect.forkDetach(Health.isCurrent)
        return yield* Fiber.join(asked).pipe(
          Effect.timeout(timeout),
          Effect.ensuring(Effect.sync(() => asked.interruptUnsafe()))
        )
      }).pipe(
        Effect.catchCause(() => Effect.succeed(false)),
        Effect.provideService(SqlClient.SqlClient, sql)
      )

      const check = Effect.gen(function* () {
        const answers = yield* database
        const accepting = !draining.isDraining()
        const ready = answers && accepting
        const each = yield* statuses
        const workers = { status: worstStatus(Object.values(each)), ...each }
        // A balancer that took this instance out would help no webhook, and where all are alike, end the API.
        const degraded = workers.status === "unhealthy" ? { status: "degraded" as const } : status(true)
        const readiness: Report = {
          ready,
          ...(ready ? degraded : status(false)),
          components: { database: status(answers), process: status(accepting), workers }
        }
        return ready ? readiness : yield* new NotReady({ readiness })
      }).pipe(Effect.withSpan("Readiness.check"))

      return Readiness.of({ check })
    })
  ).pipe(Layer.provide(Workers.layer))
}
