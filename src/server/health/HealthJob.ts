// The job that runs due health checks. All instances share the work.
import { Duration, Effect, FiberSet, Layer } from "effect"
import { randomUUID } from "node:crypto"
import { commitSignalOf, Draining, Jobs } from "../lifecycle/Lifecycle.ts"
import { HealthChecks } from "./HealthChecks.ts"
import type { Options } from "./HealthChecks.ts"
import * as HealthRepo from "./HealthRepo.ts"

/** Concurrent checks of this instance. */
const concurrency = 32

/** Milliseconds after which another instance takes over a check: three times the time limit of an inspection. */
const lease = 60_000

/** Checks that another instance scheduled, and checks that became due, are found within this time. */
const poll = "1 second"

/** While the instance drains, it claims nothing. Checks that still run when the scope closes are released. */
export const layer = ({ interval }: Options) =>
  Layer.effectDiscard(
    Effect.gen(function* () {
      const repo = yield* HealthRepo.make
      const checks = yield* HealthChecks
      const due = yield* commitSignalOf("health_checks")
      const draining = yield* Draining
      const jobs = yield* Jobs
      const running = yield* FiberSet.make<void>()
      const horizon = 2 * Math.max(Duration.toMillis(interval), lease)

      /** Whether the last claim filled all free slots, so that more checks may be due. */
      let isFull = false
      const ended = Effect.suspend(() => (isFull ? due.now : Effect.void))

      // Uninterruptible: every claimed check is started. A check that is interrupted releases its claim.
      const claim = Effect.gen(function* () {
        const limit = draining.isDraining() ? 0 : concurrency - (yield* FiberSet.size(running))
        if (limit <= 0) return
        const claims = yield* repo.claim({ token: randomUUID(), limit, lease, horizon })
        isFull = claims.length === limit
        for (const claim of claims) yield* FiberSet.run(running, Effect.ensuring(checks.run(claim), ended))
      }).pipe(Effect.uninterruptible)

      yield* jobs.run({ job: "health_checks", task: "claim", work: claim, wait: () => due.wait(poll) })
    })
  )
