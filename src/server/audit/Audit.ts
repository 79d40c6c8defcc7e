// The audit log. A change writes its record in its own transaction and waits for no other change. The records of all instances
// are linked to a chain afterwards, in the order of their commits, within about a second (ADR 0004).
import { Array, Context, DateTime, Duration, Effect, Layer, Metric, Option, Schema, Semaphore } from "effect"
import { Hex } from "effect/encoding"
import type { Statement } from "effect/sql"
import * as Caller from "../../domain/access/Caller.ts"
import { TooManyRequests } from "../../domain/access/Caller.ts"
import { AuditCheckpointNotFound, AuditHead, resourceOf } from "../../domain/audit/Audit.ts"
import type {
  AuditCheckpoint,
  AuditExportRecord,
  AuditQuery,
  AuditRecord,
  AuditVerification,
  Change,
  ExportAudit,
  KnownAction,
  PruneAudit,
  VerifyAudit
} from "../../domain/audit/Audit.ts"
import { maxPerPage } from "../../domain/request/Page.ts"
import type { Items } from "../../domain/request/Page.ts"
import { BadRequest } from "../../domain/request/Request.ts"
import { Cursors } from "../cursors/Cursors.ts"
import { commitSignalOf, Conditions, Jobs, nextMoment } from "../lifecycle/Lifecycle.ts"
import { measureGauge } from "../lifecycle/SharedJobs.ts"
import * as Transaction from "../../sql/Transaction.ts"
import { currentOrigin } from "../responses/CurrentRequest.ts"
import type { Origin } from "../responses/CurrentRequest.ts"
import { ServiceSecrets } from "../secrets/Secrets.ts"
import * as AuditRepo from "./AuditRepo.ts"
import type { ResourceName } from "./AuditRepo.ts"
import { chain } from "./Chain.ts"
import * as Verification from "./Verification.ts"
import { makeAuditCheckpointsRepo, makeChainBase } from "./Verification.ts"
import type { ChainStart, CheckpointRow } from "./Verification.ts"

// The job that links committed records to the chain of the audit log, and the gauge of those that are not linked yet.

export const auditUnlinkedRecords = Metric.gauge("audit_unlinked_records", {
  description: "Records of the audit log that are not linked to the chain yet, of all instances."
})

/** Records that are linked in one transaction, unless they are large: then fewer. */
const recordsPerLink = 1000

/** Batches that a request links at most, before it goes on with what is linked: 20 MiB, which takes about a second. */
const batchesPerRequest = 20

/** Milliseconds. What is committed between two moments is linked together. */
const linkEvery = 1000

/** An instance that stops links its records, unless the database does not answer in this time. Another instance links them then. */
const linkWhenStopped = "1 second"

/** Records that another instance left unlinked when it died are linked after at most this time. */
const leftBehind = "30 seconds"

/**
 * Starts the job. `link` links the records that were committed before, or, after an outage that left more of them than a
 * request has time for, the first of them.
 */
export const startLinking = Effect.gen(function* () {
  const repo = yield* AuditRepo.make
  const jobs = yield* Jobs
  const recorded = yield* commitSignalOf("audit")
  /** Whether the job has linked what was recorded, and waits for more. */
  let isQuiet = false
  const setQuiet = (is: boolean) => Effect.sync(() => void (isQuiet = is))
  const nextRecord = setQuiet(true).pipe(Effect.andThen(recorded.wait(leftBehind)), Effect.andThen(setQuiet(false)))

  // Linking takes a lock of the database. Requests wait for each other here, so that they hold no connection meanwhile.
  const permit = yield* Semaphore.make(1)
  const linkBatch = permit.withPermits(1)(repo.link(recordsPerLink, chain))
  const isDone = (mayHaveMore: boolean) => !mayHaveMore
  const linkAll = Effect.repeat(linkBatch, { until: isDone })

  // The job has ended when this runs.
  yield* Effect.addFinalizer(() =>
    Effect.suspend(() => (isQuiet ? Effect.void : linkAll)).pipe(
      Effect.interruptible,
      Effect.timeoutOption(linkWhenStopped),
      Effect.ignoreCause
    )
  )
  yield* jobs.run({
    job: "audit",
    task: "link",
    work: linkAll,
    wait: () => Effect.andThen(nextRecord, nextMoment(linkEvery))
  })
  yield* measureGauge(
    auditUnlinkedRecords.id,
    Effect.flatMap(repo.countUnlinked, (count) => Metric.update(auditUnlinkedRecords, count))
  )

  return { link: Effect.repeat(linkBatch, { until: isDone, times: batchesPerRequest - 1 }) }
})

// The place where the process stores the last head of the audit log that it has verified, outside of the database.

export interface HeadStore {
  readonly read: Effect.Effect<Option.Option<AuditHead>>
  write(head: AuditHead): Effect.Effect<void>
}

/** Without a store, an instance knows the head until it stops. */
export const AuditHeadStore = Context.Reference<Option.Option<HeadStore>>(
  "effect-relayer/server/audit/Audit/AuditHeadStore",
  {
    defaultValue: Option.none
  }
)

// Verifies new records of the audit log in the background, and notices if records that were verified are changed or gone.

const watchInterval = Duration.seconds(10)

const watchReason = "the audit log was cut off or changed after this instance had verified it"

/**
 * Starts the watch. `base` is where the chain begins. Without a known head, it begins with the last record, and leaves older
 * ones to a verification. Returns the head that the log must contain.
 */
export const startHeadWatch = Effect.fnUntraced(function* (base: Effect.Effect<ChainStart>) {
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
    yield* conditions.report("audit", valid ? undefined : { reason: watchReason, details })
    if (valid) yield* keep(head)
  })

  yield* jobs.run({ job: "audit", task: "watch", work: check, wait: () => Effect.sleep(watchInterval) })

  return { known: Effect.sync(() => known) }
})

/** A change as the audit log stores it: the resource is JSON text, and the origin is known. */
export interface EncodedChange<A extends KnownAction = KnownAction> {
  readonly action: A
  readonly id: string
  /** JSON text. Absent if the resource was created. */
  readonly before?: string
  /** JSON text. Absent if the resource was deleted. */
  readonly after?: string
  readonly origin: Origin
}

/** `JSON.stringify` keeps the digits of amounts: they are encoded as raw JSON numbers. */
const textOf = <S extends Schema.ConstraintEncoder<unknown>>(schema: S, value: S["Type"] | undefined) =>
  value === undefined ? undefined : JSON.stringify(Schema.encodeSync(schema)(value))

export const encodeChange = <A extends KnownAction, S extends Schema.ConstraintEncoder<unknown>>(
  change: Change<S> & { readonly action: A },
  origin: Origin
): EncodedChange<A> => {
  const before = textOf(change.schema, change.before)
  const after = textOf(change.schema, change.after)
  return {
    action: change.action,
    id: change.id,
    ...(before === undefined ? {} : { before }),
    ...(after === undefined ? {} : { after }),
    origin
  }
}

/** The resource after the change, or before it if it was deleted. */
export const resourceText = ({ before, after }: EncodedChange): string => after ?? before ?? "null"

/** Seconds after which another caller may verify. */
const retryAfter = 1

/** Read for one page of an export. */
const exportBatch = { rows: 1000, bytes: 1_048_576 }

const decodePosition = Schema.decodeUnknownEffect(Schema.Int)

/** Whether records are as they were written cannot be said of those that were pruned. */
const refusePruned = (base: ChainStart, given: Readonly<Record<string, number | undefined>>) => {
  const message = `the records up to ${base.position} were pruned`
  const violations = Object.entries(given).flatMap(([field, position]) =>
    position !== undefined && position < base.position ? [{ field, message }] : []
  )
  return violations.length === 0 ? Effect.void : Effect.fail(BadRequest.of(violations))
}

/** `at` is in ISO 8601; `before` and `after` are JSON texts, or null. */
export interface LastChange extends ResourceName {
  readonly at: string
  readonly keyId: string
  readonly before: string | null
  readonly after: string | null
}

export class Audit extends Context.Service<
  Audit,
  {
    /** Part of the running transaction: the change and its record are committed together. */
    record<S extends Schema.ConstraintEncoder<unknown>>(change: Change<S>): Effect.Effect<void>
    /** The same for a batch, with one statement. Records are linked in the order of `changes`. */
    recordMany(changes: ReadonlyArray<EncodedChange>): Effect.Effect<void>
    /**
     * A part of an SQL statement that writes changes: it appends the records that `records` names, with the columns of a record and `n`, their
     * order. After the commit, the caller raises the signal of the job `audit`.
     */
    recording(records: Statement.Fragment): Statement.Fragment
    /** When and by which caller each of these resources was last changed. Resources without a record are left out. */
    lastChanges(resources: ReadonlyArray<ResourceName>): Effect.Effect<ReadonlyArray<LastChange>>
    /** The resources that a request has changed, at most `limit`. */
    changedBy(requestId: string, limit: number): Effect.Effect<ReadonlyArray<ResourceName>>
    /** Includes the records that were committed before the call. `BadRequest` if the cursor does not belong to this list. */
    list(query: AuditQuery): Effect.Effect<Items<AuditRecord>, BadRequest>
    /**
     * Verifies a part of the log; `next` of the result is `from` of the next call. An instance verifies for one caller at a
     * time, and fails with `TooManyRequests` for others.
     */
    verify(query?: VerifyAudit): Effect.Effect<AuditVerification, BadRequest | TooManyRequests>
    /** Some records in the form that is hashed; `next` of the result is `after` of the next call. */
    export(query: ExportAudit): Effect.Effect<Items<AuditExportRecord>, BadRequest>
    /** Links what was committed before and returns the last record of the chain. */
    readonly latest: Effect.Effect<Option.Option<AuditHead>>
  }
>()("effect-relayer/server/audit/Audit") {
  /** @internal */
  static readonly layer = Layer.effect(
    Audit,
    Effect.gen(function* () {
      const repo = yield* AuditRepo.make
      const cursors = yield* Cursors
      const recorded = yield* commitSignalOf("audit")
      const { link } = yield* startLinking
      const base = yield* makeChainBase
      const watch = yield* startHeadWatch(base.get)

      const recordMany = Effect.fn("Audit.recordMany")(function* (changes: ReadonlyArray<EncodedChange>) {
        yield* repo.append(
          changes.map(({ action, id, before, after, origin }) => ({
            key_id: origin.keyId,
            action,
            resource: resourceOf(action),
            resource_id: id,
            request_id: origin.requestId,
            client_address: origin.clientAddress,
            before: before ?? null,
            after: after ?? null
          }))
        )
        yield* recorded.afterCommit
      })

      const record = <S extends Schema.ConstraintEncoder<unknown>>(change: Change<S>) =>
        Effect.flatMap(currentOrigin, (origin) => recordMany([encodeChange(change, origin)]))

      const lastChanges = Effect.fn("Audit.lastChanges")(function* (resources: ReadonlyArray<ResourceName>) {
        const rows = yield* repo.lastChanges(resources)
        return rows.map(({ key_id, ...row }): LastChange => ({ ...row, keyId: key_id }))
      })

      const changedBy = Effect.fn("Audit.changedBy")(function* (requestId: string, limit: number) {
        yield* link
        return yield* repo.changedBy(requestId, limit)
      })

      const list = Effect.fn("Audit.list")(function* ({ limit, order = "newest", cursor, ...filter }: AuditQuery) {
        const list = JSON.stringify(["audit", order, Object.entries(filter).sort()])
        const after =
          cursor === undefined ? undefined : yield* Effect.orDie(decodePosition(yield* cursors.read(list, cursor)))
        const perPage = Math.min(limit ?? 50, maxPerPage)
        yield* link
        const found = yield* repo.select({
          ...filter,
          newestFirst: order === "newest",
          limit: perPage,
          ...(after === undefined ? {} : { after })
        })
        const items = found.records
        const last = items.at(-1)
        if (last === undefined || !found.isFull) return { items }
        return { items, next: yield* cursors.make(list, last.position) }
      })

      const verifying = yield* Semaphore.make(1)

      const verify = Effect.fn("Audit.verify")(function* ({ position, hash, from }: VerifyAudit = {}) {
        if ((position === undefined) !== (hash === undefined)) {
          return yield* BadRequest.of([{ field: "hash", message: "must be given together with position" }])
        }
        const stored = position === undefined || hash === undefined ? [] : [{ position, hash }]
        const slice = Effect.gen(function* () {
          const begin = yield* base.get
          yield* refusePruned(begin, { position, from: from?.position })
          yield* link
          const known = yield* watch.known
          const last = Option.getOrUndefined(yield* base.last)
          if (last?.isGenuine === false) return { valid: false, checked: 0, broken_at: last.position }
          const checkpoints = last === undefined ? [] : [Verification.headOf(last)]
          const heads = [...stored, ...checkpoints, ...(known === undefined ? [] : [known])]
          return yield* Verification.verify(repo, { base: begin, from, heads })
        })
        const verified = yield* verifying.withPermitsIfAvailable(1)(slice)
        return Option.isSome(verified) ? verified.value : yield* new TooManyRequests({ retryAfter })
      })

      const exported = Effect.fn("Audit.export")(function* ({ after, until = Number.MAX_SAFE_INTEGER }: ExportAudit) {
        const begin = yield* base.get
        yield* refusePruned(begin, { after })
        const rows = yield* repo.rows(after ?? begin.position, exportBatch)
        const items = rows
          .filter(({ position }) => position <= until)
          .map(({ hash, ...row }): AuditExportRecord => ({ ...row, hash: Hex.encode(hash) }))
        const last = items.at(-1)
        if (last === undefined || last.position === until) return { items }
        return { items, next: String(last.position) }
      })

      const latest = Effect.andThen(link, repo.head)

      return Audit.of({
        record,
        recordMany,
        recording: repo.appendFrom,
        lastChanges,
        changedBy,
        list,
        verify,
        export: exported,
        latest
      })
    })
  ).pipe(Layer.provide([ServiceSecrets.layer, Cursors.layer]))
}

// Checkpoints of the audit log, and pruning: the chain then begins after a checkpoint, and the job `retention` deletes the records.

const shown = ({ position, hash, at, pruned_at }: Omit<CheckpointRow, "mac">): AuditCheckpoint => ({
  position,
  hash: Hex.encode(hash),
  at,
  ...(pruned_at === null ? {} : { pruned_at })
})

export class AuditCheckpoints extends Context.Service<
  AuditCheckpoints,
  {
    /** At the last record. Fails if there is no record. */
    readonly create: Effect.Effect<AuditCheckpoint, BadRequest>
    /** The newest first. */
    readonly list: Effect.Effect<ReadonlyArray<AuditCheckpoint>>
    /**
     * Prunes the records up to the checkpoint. `BadRequest` if the hash is not that of the checkpoint, `Forbidden` if the
     * caller is an API key: a thief of an API key must not be able to remove the records of its use.
     */
    prune(
      position: number,
      confirmation: PruneAudit
    ): Effect.Effect<AuditCheckpoint, AuditCheckpointNotFound | BadRequest | Caller.Forbidden>
  }
>()("effect-relayer/server/audit/Audit/AuditCheckpoints") {
  /** @internal */
  static readonly layer = Layer.effect(
    AuditCheckpoints,
    Effect.gen(function* () {
      const repo = yield* makeAuditCheckpointsRepo
      const base = yield* makeChainBase
      const audit = yield* Audit
      const transaction = yield* Transaction.make

      const recorded = Effect.fnUntraced(function* (action: KnownAction, checkpoint: AuditCheckpoint) {
        yield* audit.record({ action, id: String(checkpoint.position), schema: AuditHead, after: checkpoint })
        yield* Effect.annotateLogs(Effect.logInfo("audit checkpoint changed"), {
          action,
          position: checkpoint.position
        })
        return checkpoint
      })

      const create = Effect.gen(function* () {
        const head = Option.getOrUndefined(yield* audit.latest)
        if (head === undefined) return yield* BadRequest.of([{ field: "audit", message: "has no record yet" }])
        const hash = Buffer.from(head.hash, "hex")
        const checkpoint = { position: head.position, hash, at: yield* DateTime.now }
        yield* repo.insert({ ...checkpoint, mac: yield* base.sign(checkpoint) })
        return yield* recorded("audit.checkpoint_created", shown({ ...checkpoint, pruned_at: null }))
      }).pipe(transaction, Effect.withSpan("Audit.create"))

      const prune = Effect.fn("Audit.prune")(function* (position: number, { hash }: PruneAudit) {
        if (!Caller.isAdministrator(yield* Caller.current)) return yield* new Caller.Forbidden({})
        const found = Option.getOrUndefined(yield* repo.find(position))
        if (found === undefined) return yield* new AuditCheckpointNotFound({})
        if (Hex.encode(found.hash) !== hash) {
          return yield* BadRequest.of([{ field: "hash", message: "is not the hash of the checkpoint" }])
        }
        if (found.pruned_at !== null) return shown(found)
        // The record of the checkpoint follows it. Once that is linked, the chain never ends before the checkpoint.
        yield* audit.latest
        const pruned_at = yield* DateTime.now
        yield* repo.markPruned(position, pruned_at)
        return yield* recorded("audit.pruned", shown({ ...found, pruned_at }))
      }, transaction)

      return AuditCheckpoints.of({ create, list: Effect.map(repo.all, Array.map(shown)), prune })
    })
  ).pipe(Layer.provide(ServiceSecrets.layer))
}
