// The loop that makes checks as they become due. Any number of instances share the work.
import { Duration, Effect, FiberSet, Layer } from "effect"
import { randomUUID } from "node:crypto"
import { Draining } from "../lifecycle/Draining.ts"
import * as CommitSignal from "../lifecycle/CommitSignal.ts"
import { Jobs } from "../lifecycle/Jobs.ts"
import { HealthChecks } from "./HealthChecks.ts"
import type { Options } from "./HealthChecks.ts"
import { HealthRepo } from "./HealthRepo.ts"

/** Checks of this process at once. */
const concurrency = 32

/** Milliseconds after which another instance takes a check over: three times the longest look at a chain. */
const lease = 60_000

/** Until checks that another instance has scheduled, or time itself, are noticed. */
const poll = "1 second"

/** Claims stop when the process drains; what is still running when the scope closes is given back. */
export const layerNoDeps = ({ interval }: Options) =>
  Layer.effectDiscard(
    Effect.gen(function* () {
      const repo = yield* HealthRepo
      const checks = yield* HealthChecks
      const due = yield* CommitSignal.make("health_checks")
      const draining = yield* Draining
      const jobs = yield* Jobs
      const running = yield* FiberSet.make<void>()
      const horizon = 2 * Math.max(Duration.toMillis(interval), lease)

      /** As many as there was room for: there may be more. */
      let isFull = false
      const ended = Effect.suspend(() => (isFull ? due.now : Effect.void))

      // Not interrupted between a claim and the start of its check, which releases the claim.
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

export const layer = (options: Options) => Layer.provide(layerNoDeps(options), HealthRepo.layer)
