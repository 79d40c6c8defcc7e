// One check of a relayer: inspects its chain without a transaction, and then applies the result in one transaction.
import { Cause, Context, Duration, Effect, Layer, Metric, Option, Random } from "effect"
import { Changes } from "../changes/Changes.ts"
import type { TooManyRequests } from "../../domain/access/Caller.ts"
import type { ChainSnapshot } from "../../domain/chain/ChainSnapshot.ts"
import { carry, unanswered } from "../../domain/health/Funding.ts"
import * as Health from "../../domain/health/Health.ts"
import { findingOf, isSameReason } from "../../domain/health/Health.ts"
import type { Outcome } from "../../domain/health/Health.ts"
import type { NetworkType } from "../../domain/network/Network.ts"
import type { Relayer, RelayerId, RelayerNotFound } from "../../domain/relayer/Relayer.ts"
import type { Versioned } from "../../domain/request/Request.ts"
import * as Transaction from "../../sql/Transaction.ts"
import { OutboundWork } from "../limits/CallerLimits.ts"
import { RelayerTargets } from "../relayers/RelayerTargets.ts"
import type { RelayerTarget } from "../relayers/RelayerTargets.ts"
import { Chains } from "../chains/Chains.ts"
import * as Metrics from "./HealthMetrics.ts"
import * as HealthRepo from "./HealthRepo.ts"
import type { Check, Claim } from "./HealthRepo.ts"

export interface Options {
  /** The time between two checks of a healthy relayer. */
  readonly interval: Duration.Input
}

/** The time limit of an inspection. It is shorter than the timeout of a request and than the lease of a claim. */
const inspectTimeout = "20 seconds"

/** The result is discarded, because another check replaced this one or the relayer has changed meanwhile. */
type Superseded = "superseded"

export class HealthChecks extends Context.Service<
  HealthChecks,
  {
    /** Runs the claimed check and schedules the next one, whatever happens. An interrupted check is released and due at once. */
    run(claim: Claim): Effect.Effect<void>
    /**
     * Checks the relayer now and returns the snapshot. The result of a check that runs at the same time is discarded, and this
     * result too if the relayer changes meanwhile.
     */
    now(id: RelayerId): Effect.Effect<ChainSnapshot, RelayerNotFound | TooManyRequests>
  }
>()("effect-relayer/server/health/HealthChecks") {
  static readonly layer = (options: Options) =>
    Layer.effect(
      HealthChecks,
      Effect.gen(function* () {
        const repo = yield* HealthRepo.make
        const targets = yield* RelayerTargets
        const chains = yield* Chains
        const changes = yield* Changes
        const outboundWork = yield* OutboundWork
        const transaction = yield* Transaction.make
        const interval = Duration.toMillis(options.interval)

        const inspect = (target: RelayerTarget) =>
          Effect.timeoutOrElse(chains.inspect(target), {
            duration: inspectTimeout,
            orElse: () => Effect.succeed(unanswered(target.relayer, target.urls))
          })

        /** Locks the relayer before its check, in the same order as all other code. */
        const settle = Effect.fn("HealthChecks.settle")(function* (
          id: RelayerId,
          reading: ChainSnapshot,
          isCurrent: (check: Check, relayer: Versioned<Relayer>) => boolean
        ): Effect.fn.Return<Outcome | Superseded, RelayerNotFound> {
          const held = yield* targets.hold(id)
          const found = yield* repo.findForUpdate(id)
          if (Option.isNone(found) || !isCurrent(found.value, held)) return "superseded"
          const before = found.value
          const finding = findingOf(reading, held.value.policies)
          const { health, events } = Health.step(before.state, finding)
          const reason = Health.disabledReasonOf(health)
          const isShown =
            held.value.system_disabled === (reason !== undefined) && isSameReason(held.value.disabled_reason, reason)
          const relayer = isShown ? held.value : yield* targets.setDisabled(id, reason)
          yield* repo.save(id, {
            health,
            reading: carry(before.reading, reading),
            isRead: reading.balance !== undefined,
            delay: Health.delayOf(health, interval, yield* Random.next)
          })
          for (const event of events) yield* changes.publish(event, relayer)
          return finding.outcome
        }, transaction)

        const count = (network_type: NetworkType | "unknown", outcome: Outcome | Superseded | "defect") =>
          Metric.update(Metric.withAttributes(Metrics.healthChecksTotal, { network_type, outcome }), 1)

        const check = <E>(
          { relayer }: RelayerTarget,
          inspect: Effect.Effect<ChainSnapshot, E>,
          isCurrent: (check: Check, relayer: Versioned<Relayer>) => boolean
        ): Effect.Effect<ChainSnapshot, E | RelayerNotFound> =>
          Effect.gen(function* () {
            const labels = { network_type: relayer.network_type }
            const [taken, reading] = yield* Effect.timed(inspect)
            yield* Metric.update(Metric.withAttributes(Metrics.healthCheckSeconds, labels), Duration.toSeconds(taken))
            const outcome = yield* settle(relayer.id, reading, isCurrent)
            yield* count(relayer.network_type, outcome)
            return reading
          })

        const failed = (claim: Claim, cause: Cause.Cause<unknown>) =>
          Effect.gen(function* () {
            yield* Effect.annotateLogs(Effect.logError("health check failed unexpectedly", cause), {
              relayer_id: claim.id
            })
            yield* count("unknown", "defect")
            yield* repo.release(claim, interval)
          }).pipe(Effect.ignoreCause)

        const run = (claim: Claim) =>
          targets.get(claim.id).pipe(
            Effect.flatMap((target) => check(target, inspect(target), ({ claimed_by }) => claimed_by === claim.token)),
            Effect.asVoid,
            Effect.catchTag("RelayerNotFound", () => Effect.void),
            Effect.catchCause((cause) => (Cause.hasInterrupts(cause) ? Effect.interrupt : failed(claim, cause))),
            Effect.onInterrupt(() => Effect.ignoreCause(repo.release(claim, 0))),
            Effect.withSpan("HealthChecks.run")
          )

        const now = Effect.fn("HealthChecks.now")(function* (id: RelayerId) {
          const target = yield* targets.get(id)
          return yield* check(target, outboundWork.run(inspect(target)), (_, { version }) => version === target.version)
        })

        return HealthChecks.of({ run, now })
      })
    )
}
