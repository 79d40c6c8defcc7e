// The tasks of the job `retention`, one per feature: each deletes old rows, and one sums final transactions before they are deleted.
// Deliveries of webhooks have a retention of their own.
import { Duration, Effect, Layer } from "effect"
import { makeAuditCheckpointsRepo } from "./audit/Verification.ts"
import { Claims } from "./claims/Claims.ts"
import { makeEventRetentionRepo } from "./events/Events.ts"
import { makeBalancesRepo } from "./health/HealthRepo.ts"
import { transactionRetention } from "./ledger/LedgerJobs.ts"
import { makeSums } from "./ledger/StatisticsRepo.ts"
import { TopUps } from "./ledger/TopUps.ts"
import { IdempotencyStore, pruneBatch } from "./idempotency/IdempotencyStore.ts"
import { Jobs } from "./lifecycle/Lifecycle.ts"
import { deleteOld, retentionInterval } from "./lifecycle/SharedJobs.ts"

/** Rows that one statement deletes: few enough to lock nothing for long. */
const batch = 1000

/** Audit records that were pruned. */
export const audit = Layer.effectDiscard(
  Effect.flatMap(makeAuditCheckpointsRepo, ({ deletePruned }) => deleteOld("audit", batch, deletePruned(batch)))
)

/** Stored responses after 24 hours, also if no request with an idempotency key comes. */
export const idempotency = Layer.effectDiscard(
  Effect.flatMap(IdempotencyStore, ({ prune }) => deleteOld("idempotency", pruneBatch, prune))
)

/** Events that are older than `age`; `Duration.infinity` keeps them forever. */
export const events = (age: Duration.Duration) =>
  Duration.isFinite(age)
    ? Layer.effectDiscard(
        Effect.flatMap(makeEventRetentionRepo, ({ prune }) => deleteOld("events", batch, prune(age, batch)))
      )
    : Layer.empty

/** Balances of relayers after 30 days. */
const balances = Layer.effectDiscard(
  Effect.flatMap(makeBalancesRepo, ({ prune }) => deleteOld("balances", batch, prune(batch)))
)

/** Sums of final transactions: those of the quarters of an hour that ended are written, and old ones deleted. */
const sums = Layer.effectDiscard(
  Effect.gen(function* () {
    const repo = yield* makeSums
    const jobs = yield* Jobs
    yield* jobs.run({ job: "retention", task: "sum", work: repo.sumAll, wait: () => Effect.sleep(retentionInterval) })
    yield* deleteOld("sums", batch, repo.prune(batch))
  })
)

/** Payments of top-ups after 30 days. The newest of each relayer stays. */
const topUps = Layer.effectDiscard(Effect.flatMap(TopUps, ({ prune }) => deleteOld("top_ups", batch, prune(batch))))

/** Claims that have ended: leases, and final ones after 30 days. */
const claims = Layer.effectDiscard(Effect.flatMap(Claims, ({ prune }) => deleteOld("claims", batch, prune(batch))))

/** All of them until the scope closes. `age` applies to events and final transactions. */
export const layer = (age: Duration.Duration) =>
  Layer.mergeAll(audit, idempotency, balances, claims, sums, topUps, events(age), transactionRetention(age))
