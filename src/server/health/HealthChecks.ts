// The checks of relayers, due or now: one inspects a chain without a transaction, and then applies the result in one transaction.
import { Cause, Clock, Context, Duration, Effect, FiberSet, Layer, Metric, Option, Random, Schema } from "effect"
import { randomUUID } from "node:crypto"
import type { ChainSnapshot } from "../../domain/chain/ChainSnapshot.ts"
import { carry, unanswered } from "../../domain/health/Funding.ts"
import * as Health from "../../domain/health/Health.ts"
import { findingOf, isSameReason } from "../../domain/health/Health.ts"
import type { Outcome } from "../../domain/health/Health.ts"
import { NetworkType } from "../../domain/network/Network.ts"
import { RelayerId } from "../../domain/relayer/Relayer.ts"
import type { Relayer, RelayerNotFound } from "../../domain/relayer/Relayer.ts"
import type { Versioned } from "../../domain/request/Request.ts"
import type { LaneKey } from "../../networks/core/Rules.ts"
import type { Watched } from "../../networks/core/Transaction.ts"
import * as Rows from "../../sql/Rows.ts"
import { Chains, notServed } from "../chains/Chains.ts"
import { Changes } from "../changes/Changes.ts"
import { commitSignalOf, Draining, Jobs } from "../lifecycle/Lifecycle.ts"
import { measureGauge } from "../lifecycle/SharedJobs.ts"
import * as Transaction from "../../sql/Transaction.ts"
import { client, query } from "../../sql/Transaction.ts"
import { Ledger } from "../ledger/Ledger.ts"
import { LedgerRules } from "../ledger/LedgerEntries.ts"
import { OutboundWork } from "../limits/RateLimits.ts"
import { waitingCounts, waitingRelayers } from "../relayers/StoredRelayer.ts"
import { RelayerTargets } from "../relayers/RelayerTargets.ts"
import type { RelayerTarget } from "../relayers/RelayerTargets.ts"
import * as HealthRepo from "./HealthRepo.ts"
import type { Check, Claim } from "./HealthRepo.ts"

// The metrics of health checks.

const healthChecksTotal = Metric.counter("health_checks_total", {
  description: "Health checks of relayers, by network type and outcome.",
  incremental: true
})

const healthCheckSeconds = Metric.histogram("health_check_seconds", {
  description: "Time to inspect the chain of a relayer, in seconds, by network type.",
  boundaries: [0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 20]
})

const delegatesChangedTotal = Metric.counter("delegates_changed_total", {
  description: "Changes of what accounts delegate to, which checks have found.",
  incremental: true
})

/** These have a series for each relayer, and exist only if the operator asked for them. */
const metricsPerRelayer = {
  relayer_enabled: Metric.gauge("relayer_enabled", {
    description: "0 while the service has disabled the relayer, else 1."
  }),
  relayer_paused: Metric.gauge("relayer_paused", {
    description: "1 while the operator has paused the relayer, else 0."
  }),
  relayer_waiting: Metric.gauge("relayer_waiting", {
    description:
      "Open transactions of the relayer that wait for something that is missing, such as funds, with those that are queued behind them."
  }),
  relayer_balance: Metric.gauge("relayer_balance", {
    description: "Balance of the relayer at its last check, in the smallest unit of the chain."
  }),
  relayer_min_balance: Metric.gauge("relayer_min_balance", {
    description: "The policy min_balance of the relayer, if it has one, in the smallest unit of the chain."
  })
}

export const healthMetrics = [
  healthChecksTotal,
  healthCheckSeconds,
  delegatesChangedTotal,
  ...Object.values(metricsPerRelayer)
]

export interface HealthCheckOptions {
  /** The time between two checks of a healthy relayer. */
  readonly interval: Duration.Input
}

/** Milliseconds between two looks at what an account delegates to. What was found changed is looked at with each check. */
const watchInterval = 3_600_000

/** The time limit of an inspection. It is shorter than the timeout of a request and than the lease of a claim. */
const inspectTimeout = "20 seconds"

/** The result is discarded, because another check replaced this one or the relayer has changed meanwhile. */
type Superseded = "superseded"

/** What follows the check of a relayer that is topped up, outside of the transaction of the check. A higher feature implements it. */
export class TopUpChecks extends Context.Service<TopUpChecks, { run(target: RelayerTarget): Effect.Effect<void> }>()(
  "effect-relayer/server/health/HealthChecks/TopUpChecks"
) {}

const makeHealthChecks = Effect.fnUntraced(function* (options: HealthCheckOptions) {
  const repo = yield* HealthRepo.make
  const targets = yield* RelayerTargets
  const chains = yield* Chains
  const changes = yield* Changes
  const ledger = yield* Ledger
  const networks = yield* LedgerRules
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
    Metric.update(Metric.withAttributes(healthChecksTotal, { network_type, outcome }), 1)

  /** What was seen, with the event that reports a change. False: another check was faster, and what it has stored stays. */
  const noteWatched = Effect.fnUntraced(function* (
    id: RelayerId,
    key: LaneKey,
    before: Watched | undefined,
    seen: Watched,
    isNew: boolean
  ) {
    // The relayer before its lane, as all other code locks them.
    const relayer = isNew ? (yield* targets.hold(id)).value : undefined
    const isStored = yield* ledger.watch(key, before, seen)
    if (isStored && relayer !== undefined) yield* changes.publish("relayer.delegate_changed", relayer)
    return isStored
  }, transaction)

  /**
   * Looks at what the account delegates to, each hour, also while nothing of it is sent. A change is published once, by the relayer whose check
   * finds it. It holds many calls, so it is looked at again with each check: it may have been a block that was replaced, or a wrong answer.
   */
  const watch = Effect.fnUntraced(function* (target: RelayerTarget) {
    const { relayer, network } = target
    const found = Option.getOrUndefined(yield* ledger.laneOn({ relayer, network }))
    if (found === undefined || networks.of(found.chain).rules.delegationOf?.(found.lane) === undefined) return
    const [{ address, watched }] = found.lane.accounts
    const isUnchanged = watched !== undefined && watched.changed === undefined
    if (isUnchanged && (yield* Clock.currentTimeMillis) - watched.at < watchInterval) return
    const seen = yield* chains.watch(target, found.lane)
    if (seen === undefined) return
    const isNew =
      seen.changed !== undefined && !(watched?.sequence === seen.sequence && watched.changed === seen.changed)
    const isStored = yield* noteWatched(relayer.id, { chain: found.chain, address }, watched, seen, isNew)
    if (!isNew || !isStored) return
    yield* Metric.update(delegatesChangedTotal, 1)
    yield* Effect.annotateLogs(Effect.logWarning("what an account delegates to has changed"), {
      relayer_id: relayer.id,
      changed: seen.changed
    })
  })

  const check = <E>(
    target: RelayerTarget,
    inspect: Effect.Effect<ChainSnapshot, E>,
    isCurrent: (check: Check, relayer: Versioned<Relayer>) => boolean
  ): Effect.Effect<ChainSnapshot, E | RelayerNotFound> =>
    Effect.gen(function* () {
      const { relayer } = target
      const labels = { network_type: relayer.network_type }
      const [taken, reading] = yield* Effect.timed(inspect)
      yield* Metric.update(Metric.withAttributes(healthCheckSeconds, labels), Duration.toSeconds(taken))
      const outcome = yield* settle(relayer.id, reading, isCurrent)
      yield* count(relayer.network_type, outcome)
      yield* watch(target)
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

  /**
   * Runs the claimed check and schedules the next one, whatever happens. An interrupted check is released and due at once. Whether the relayer is
   * topped up: something follows the check then.
   */
  const run = (claim: Claim) =>
    targets.get(claim.id).pipe(
      Effect.flatMap((target) =>
        Effect.as(
          check(target, inspect(target), ({ claimed_by }) => claimed_by === claim.token),
          target.relayer.policies?.top_up !== undefined
        )
      ),
      Effect.catchTag("RelayerNotFound", () => Effect.succeed(false)),
      Effect.catchCause((cause) =>
        Cause.hasInterrupts(cause) ? Effect.interrupt : Effect.as(failed(claim, cause), false)
      ),
      Effect.onInterrupt(() => Effect.ignoreCause(repo.release(claim, 0))),
      Effect.withSpan("HealthChecks.run")
    )

  /**
   * Checks the relayer now and returns the snapshot. The result of a check that runs at the same time is discarded, and this
   * result too if the relayer changes meanwhile.
   */
  const now = Effect.fn("HealthChecks.now")(function* (id: RelayerId) {
    const target = yield* targets.get(id)
    const { network_type } = target.relayer
    if (!chains.serves(network_type)) return yield* notServed(network_type)
    return yield* check(target, outboundWork.run(inspect(target)), (_, { version }) => version === target.version)
  })

  return { run, now }
})

export class HealthChecks extends Context.Service<HealthChecks, Effect.Success<ReturnType<typeof makeHealthChecks>>>()(
  "effect-relayer/server/health/HealthChecks"
) {
  static readonly layer = (options: HealthCheckOptions) => Layer.effect(HealthChecks, makeHealthChecks(options))
}

// The job that runs due health checks. All instances share the work.

/** Concurrent checks of this instance. */
const concurrency = 32

/** Milliseconds after which another instance takes over a check: three times the time limit of an inspection. */
const claimLease = 60_000

/** Checks that another instance scheduled, and checks that became due, are found within this time. */
const pollEvery = "1 second"

/** While the instance drains, it claims nothing. Checks that still run when the scope closes are released. */
export const layerHealthJob = ({ interval }: HealthCheckOptions) =>
  Layer.effectDiscard(
    Effect.gen(function* () {
      const repo = yield* HealthRepo.make
      const checks = yield* HealthChecks
      const due = yield* commitSignalOf("health_checks")
      const draining = yield* Draining
      const jobs = yield* Jobs
      const { serves } = yield* Chains
      const targets = yield* RelayerTargets
      const topUps = yield* TopUpChecks
      /** Checks of these are left to other programs on the database. */
      const unserved = NetworkType.literals.filter((type) => !serves(type))
      const running = yield* FiberSet.make<void>()
      const horizon = 2 * Math.max(Duration.toMillis(interval), claimLease)

      /** Whether the last claim filled all free slots, so that more checks may be due. */
      let isFull = false
      const ended = Effect.suspend(() => (isFull ? due.now : Effect.void))

      /** The check may have disabled the relayer, or enabled it: what follows reads it anew. */
      const topUp = (claim: Claim) =>
        targets.get(claim.id).pipe(
          Effect.flatMap((target) => topUps.run(target)),
          Effect.catchTag("RelayerNotFound", () => Effect.void),
          Effect.catchCause((cause) =>
            Cause.hasInterrupts(cause)
              ? Effect.interrupt
              : Effect.annotateLogs(Effect.logError("top-up failed unexpectedly", cause), { relayer_id: claim.id })
          )
        )

      const runWhole = (claim: Claim) =>
        Effect.flatMap(checks.run(claim), (isToppedUp) => (isToppedUp ? topUp(claim) : Effect.void))

      // Uninterruptible: every claimed check is started. A check that is interrupted releases its claim.
      const claim = Effect.gen(function* () {
        const limit = draining.isDraining() ? 0 : concurrency - (yield* FiberSet.size(running))
        if (limit <= 0) return
        const claims = yield* repo.claim({ token: randomUUID(), limit, lease: claimLease, horizon, unserved })
        isFull = claims.length === limit
        for (const claim of claims) yield* FiberSet.run(running, Effect.ensuring(runWhole(claim), ended))
      }).pipe(Effect.uninterruptible)

      yield* jobs.run({ job: "health_checks", task: "claim", work: claim, wait: () => due.wait(pollEvery) })
    })
  )

// Measures a series of metrics for each relayer, if the operator asked for them.

/** The first relayers by id. A series costs memory here and in every scraper. */
const maxRelayers = 5000

const SeriesRow = Schema.Struct({
  relayer_id: RelayerId,
  network_type: NetworkType,
  network: Schema.String,
  enabled: Schema.Boolean,
  paused: Schema.Boolean,
  waiting: Schema.Int,
  balance: Schema.NullOr(Schema.String),
  min_balance: Schema.NullOr(Schema.String)
})
type SeriesRow = typeof SeriesRow.Type

const readSeries = Rows.all(SeriesRow)

const valuesOf = ({ enabled, paused, waiting, balance, min_balance }: SeriesRow) => ({
  relayer_enabled: Number(enabled),
  relayer_paused: Number(paused),
  relayer_waiting: waiting,
  relayer_balance: balance === null ? undefined : Number(balance),
  relayer_min_balance: min_balance === null ? undefined : Number(min_balance)
})

const names = [
  "relayer_enabled",
  "relayer_paused",
  "relayer_waiting",
  "relayer_balance",
  "relayer_min_balance"
] as const

const seriesOf = (row: SeriesRow) => {
  const { relayer_id, network_type, network } = row
  const values = valuesOf(row)
  return names.flatMap((name) => {
    const value = values[name]
    return value === undefined
      ? []
      : [
          {
            key: `${name} ${relayer_id}`,
            metric: Metric.withAttributes(metricsPerRelayer[name], { relayer_id, network_type, network }),
            value
          }
        ]
  })
}

export const layerRelayerSeries = Layer.effectDiscard(
  Effect.gen(function* () {
    const sql = yield* client
    const read = sql`
    SELECT t.id AS relayer_id, t.network_type, t.network, NOT t.system_disabled AS enabled, t.paused,
      coalesce(w.count, 0)::float8 AS waiting,
      c.reading ->> 'balance' AS balance, t.policies ->> 'min_balance' AS min_balance
    FROM relayers t LEFT JOIN relayer_checks c ON c.relayer_id = t.id
      LEFT JOIN (${waitingCounts(sql, waitingRelayers(sql))}) w ON w.relayer_number = t.seq
    ORDER BY t.id LIMIT ${maxRelayers}`.pipe(Effect.flatMap(readSeries), query("HealthChecks.read"))

    let known = new Map<string, ReturnType<typeof seriesOf>[number]["metric"]>()
    const measure = Effect.gen(function* () {
      const series = (yield* read).flatMap(seriesOf)
      for (const { metric, value } of series) yield* Metric.update(metric, value)
      const current = new Map(series.map(({ key, metric }) => [key, metric]))
      for (const [key, metric] of known) if (!current.has(key)) yield* Metric.remove(metric)
      known = current
    })
    yield* measureGauge("relayer_gauges", measure)
  })
)
