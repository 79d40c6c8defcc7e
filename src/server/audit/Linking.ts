// The job that links committed records to the chain of the audit log, and the gauge of those that are not linked yet.
import { Effect, Metric, Semaphore } from "effect"
import { commitSignalOf, Jobs } from "../lifecycle/Lifecycle.ts"
import { measureGauge } from "../lifecycle/SharedJobs.ts"
import * as AuditRepo from "./AuditRepo.ts"
import { chain } from "./Chain.ts"

export const auditUnlinkedRecords = Metric.gauge("audit_unlinked_records", {
  description: "Records of the audit log that are not linked to the chain yet, of all instances."
})

/** Records that are linked in one transaction, unless they are large: then fewer. */
const batch = 1000

/** Batches that a request links at most, before it goes on with what is linked: 20 MiB, which takes about a second. */
const batchesPerRequest = 20

/** Changes that are committed within this time are linked together. */
const gather = "200 millis"

/** Records that another instance left unlinked when it died are linked after at most this time. */
const leftBehind = "30 seconds"

/**
 * Starts the job. `link` links the records that were committed before, or, after an outage that left more of them than a
 * request has time for, the first of them.
 */
export const start = Effect.gen(function* () {
  const repo = yield* AuditRepo.make
  const jobs = yield* Jobs
  const recorded = yield* commitSignalOf("audit")

  // Linking takes a lock of the database. Requests wait for each other here, so that they hold no connection meanwhile.
  const permit = yield* Semaphore.make(1)
  const linkBatch = permit.withPermits(1)(repo.link(batch, chain))
  const isDone = (mayHaveMore: boolean) => !mayHaveMore

  yield* jobs.run({
    job: "audit",
    task: "link",
    work: Effect.repeat(linkBatch, { until: isDone }),
    wait: () => Effect.andThen(recorded.wait(leftBehind), Effect.sleep(gather))
  })
  yield* measureGauge(
    auditUnlinkedRecords.id,
    Effect.flatMap(repo.countUnlinked, (count) => Metric.update(auditUnlinkedRecords, count))
  )

  return { link: Effect.repeat(linkBatch, { until: isDone, times: batchesPerRequest - 1 }) }
})
