// The job that links committed records to the chain of the audit log, and the gauge of those that are not linked yet.
import { Effect, Metric } from "effect"
import * as CommitSignal from "../lifecycle/CommitSignal.ts"
import * as GaugeJob from "../lifecycle/GaugeJob.ts"
import { Jobs } from "../lifecycle/Jobs.ts"
import { auditUnlinkedRecords } from "./AuditMetrics.ts"
import { AuditRepo } from "./AuditRepo.ts"
import { chain } from "./Chain.ts"

/** Records that are linked in one transaction. */
const batch = 1000

/** Changes that are committed within this time are linked together. */
const gather = "200 millis"

/** Records that another instance left unlinked when it died are linked after at most this time. */
const leftBehind = "30 seconds"

/** Starts the job. `link` links all records that were committed before. */
export const start = Effect.gen(function* () {
  const repo = yield* AuditRepo
  const jobs = yield* Jobs
  const recorded = yield* CommitSignal.make("audit")

  const link = Effect.repeat(repo.link(batch, chain), { until: (linked) => linked < batch })

  yield* jobs.run({
    job: "audit",
    task: "link",
    work: link,
    wait: () => Effect.andThen(recorded.wait(leftBehind), Effect.sleep(gather))
  })
  yield* GaugeJob.run(
    auditUnlinkedRecords.id,
    Effect.flatMap(repo.countUnlinked, (count) => Metric.update(auditUnlinkedRecords, count))
  )

  return { link }
})
