// Verifies new records of the audit log in the background, and notices if records that were verified are changed or gone.
import { Duration, Effect, Option } from "effect"
import type { AuditHead } from "../../domain/audit/Audit.ts"
import { Conditions, Jobs } from "../lifecycle/Lifecycle.ts"
import { AuditHeadStore } from "./AuditHeadStore.ts"
import * as AuditRepo from "./AuditRepo.ts"
import type { Base } from "./ChainBase.ts"
import * as Verification from "./Verification.ts"

const interval = Duration.seconds(10)

const reason = "the audit log was cut off or changed after this instance had verified it"

/**
 * Starts the watch. `base` is where the chain begins. Without a known head, it begins with the last record, and leaves older
 * ones to a verification. Returns the head that the log must contain.
 */
export const start = Effect.fnUntraced(function* (base: Effect.Effect<Base>) {
  const repo = yield* AuditRepo.make
  const conditions = yield* Conditions
  const jobs = yield* Jobs
  const store = yield* AuditHeadStore
  let known: AuditHead | undefined
  let isLoaded = false

  const load = Effect.gen(function* () {
    if (isLoaded) return
    if (Option.isSome(store)) known = Option.getOrUndefined(yield* store.value.read)
    isLoaded = true
  })

  const keep = Effect.fnUntraced(function* (head: AuditHead | undefined) {
    if (head === undefined || head.position === known?.position) return
    if (Option.isSome(store)) yield* store.value.write(head)
    known = head
  })

  const check = Effect.gen(function* () {
    yield* load
    const begin = yield* base
    if (known === undefined) return yield* keep(Option.getOrUndefined(yield* repo.head))
    const { valid, head, broken_at } = yield* Verification.verify(repo, { base: begin, from: known, heads: [] })
    const details = { verified_position: known.position, broken_at }
    yield* conditions.report("audit", valid ? undefined : { reason, details })
    if (valid) yield* keep(head)
  })

  yield* jobs.run({ job: "audit", task: "watch", work: check, wait: () => Effect.sleep(interval) })

  return { known: Effect.sync(() => known) }
})
