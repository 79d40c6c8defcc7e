// The audit log. A change writes its record in its own transaction, without waiting for anybody; the records of all
// instances are chained afterwards, in commit order, within about a second (ADR 0004).
import { Context, Effect, Layer, Metric, Schema } from "effect"
import { Hex } from "effect/encoding"
import type { AuditAnchor, AuditQuery, AuditRecord, AuditVerification } from "../../domain/audit/Audit.ts"
import { resourceOf } from "../../domain/audit/Change.ts"
import type { Change } from "../../domain/audit/Change.ts"
import { maxPerPage } from "../../domain/request/Page.ts"
import type { Items } from "../../domain/request/Page.ts"
import { BadRequest } from "../../domain/request/Request.ts"
import { Cursors } from "../cursors/Cursors.ts"
import * as CommitSignal from "../lifecycle/CommitSignal.ts"
import * as GaugeJob from "../lifecycle/GaugeJob.ts"
import { Jobs } from "../lifecycle/Jobs.ts"
import * as Origin from "../responses/Origin.ts"
import { auditUnlinkedRecords } from "./AuditMetrics.ts"
import { AuditRepo } from "./AuditRepo.ts"
import { chain, firstBroken } from "./Chain.ts"
import type { Link } from "./Chain.ts"
import * as EncodedChange from "./EncodedChange.ts"

/** Records that are linked, or verified, in one step. */
const batch = 1000

/** Changes that are committed within this time are linked together. */
const gather = "200 millis"

/** Records that another instance left unlinked when it died are linked after at most this time. */
const leftBehind = "30 seconds"

const decodePosition = Schema.decodeUnknownEffect(Schema.Int)

export class Audit extends Context.Service<
  Audit,
  {
    /** Part of the running transaction: the change and its record are committed together. */
    record<S extends Schema.ConstraintEncoder<unknown>>(change: Change<S>): Effect.Effect<void>
    /** The same for a batch, with one statement. Records are linked in the order of `changes`. */
    recordMany(changes: ReadonlyArray<EncodedChange.EncodedChange>): Effect.Effect<void>
    /** Of what has been committed when it is called, everything. `BadRequest` where the cursor is none of this list. */
    list(query: AuditQuery): Effect.Effect<Items<AuditRecord>, BadRequest>
    /** Reads the whole log; with `anchor`, a head that was kept, also whether the log still leads there. */
    verify(anchor?: AuditAnchor): Effect.Effect<AuditVerification, BadRequest>
  }
>()("effect-relayer/server/audit/Audit") {
  static readonly layerNoDeps = Layer.effect(
    Audit,
    Effect.gen(function* () {
      const repo = yield* AuditRepo
      const cursors = yield* Cursors
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

      const recordMany = Effect.fn("Audit.recordMany")(function* (changes: ReadonlyArray<EncodedChange.EncodedChange>) {
        yield* repo.append(
          changes.map(({ action, id, before, after, origin }) => ({
            key_id: origin.keyId,
            action,
            resource: resourceOf(action),
            resource_id: id,
            request_id: origin.requestId,
            before: before ?? null,
            after: after ?? null
          }))
        )
        yield* recorded.afterCommit
      })

      const record = <S extends Schema.ConstraintEncoder<unknown>>(change: Change<S>) =>
        Effect.flatMap(Origin.current, (origin) => recordMany([EncodedChange.encode(change, origin)]))

      const list = Effect.fn("Audit.list")(function* ({ limit, order = "newest", cursor, ...filter }: AuditQuery) {
        const list = JSON.stringify(["audit", order, Object.entries(filter).sort()])
        const after =
          cursor === undefined ? undefined : yield* Effect.orDie(decodePosition(yield* cursors.read(list, cursor)))
        const perPage = Math.min(limit ?? 50, maxPerPage)
        yield* link
        const found = yield* repo.select({
          ...filter,
          newestFirst: order === "newest",
          limit: perPage + 1,
          ...(after === undefined ? {} : { after })
        })
        const items = found.slice(0, perPage)
        const last = items.at(-1)
        if (last === undefined || found.length === items.length) return { items }
        return { items, next: yield* cursors.make(list, last.position) }
      })

      const verify = Effect.fn("Audit.verify")(function* (anchor: AuditAnchor = {}) {
        if ((anchor.position === undefined) !== (anchor.hash === undefined)) {
          return yield* BadRequest.of([{ field: "hash", message: "must be given together with position" }])
        }
        yield* link
        let head: Link | undefined
        let anchored = anchor.position === undefined
        while (true) {
          const rows = yield* repo.rows(head?.position ?? 0, batch)
          const broken_at = firstBroken(rows, head)
          if (broken_at !== undefined) return { valid: false, checked: broken_at - 1, broken_at }
          anchored ||= rows.some((row) => row.position === anchor.position && Hex.encode(row.hash) === anchor.hash)
          head = rows.at(-1) ?? head
          if (rows.length < batch) break
        }
        const checked = head?.position ?? 0
        const end = head === undefined ? {} : { head: { position: head.position, hash: Hex.encode(head.hash) } }
        return anchored
          ? { valid: true, checked, ...end }
          : { valid: false, checked, ...end, broken_at: Math.min(anchor.position ?? 0, checked + 1) }
      })

      return Audit.of({ record, recordMany, list, verify })
    })
  )

  static readonly layer = this.layerNoDeps.pipe(Layer.provide([AuditRepo.layer, Cursors.layer]))
}
