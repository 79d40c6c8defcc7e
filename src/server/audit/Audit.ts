// The audit log. A change writes its record in its own transaction and waits for no other change. The records of all instances
// are linked to a chain afterwards, in the order of their commits, within about a second (ADR 0004).
import { Context, Effect, Layer, Option, Schema, Semaphore } from "effect"
import { Hex } from "effect/encoding"
import { Cursors } from "../cursors/Cursors.ts"
import { TooManyRequests } from "../../domain/access/Caller.ts"
import { resourceOf } from "../../domain/audit/Audit.ts"
import type {
  AuditExportRecord,
  AuditHead,
  AuditQuery,
  AuditRecord,
  AuditVerification,
  Change,
  ExportAudit,
  KnownAction,
  VerifyAudit
} from "../../domain/audit/Audit.ts"
import { maxPerPage } from "../../domain/request/Page.ts"
import type { Items } from "../../domain/request/Page.ts"
import { BadRequest } from "../../domain/request/Request.ts"
import { commitSignalOf } from "../lifecycle/Lifecycle.ts"
import { currentOrigin } from "../responses/CurrentRequest.ts"
import type { Origin } from "../responses/CurrentRequest.ts"
import * as AuditRepo from "./AuditRepo.ts"
import type { ResourceName } from "./AuditRepo.ts"
import { ServiceSecrets } from "../secrets/ServiceSecrets.ts"
import * as ChainBase from "./ChainBase.ts"
import type { Base } from "./ChainBase.ts"
import * as HeadWatch from "./HeadWatch.ts"
import * as Linking from "./Linking.ts"
import * as Verification from "./Verification.ts"

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
const refusePruned = (base: Base, given: Readonly<Record<string, number | undefined>>) => {
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
      const { link } = yield* Linking.start
      const base = yield* ChainBase.make
      const watch = yield* HeadWatch.start(base.get)

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

      return Audit.of({ record, recordMany, lastChanges, changedBy, list, verify, export: exported, latest })
    })
  ).pipe(Layer.provide([ServiceSecrets.layer, Cursors.layer]))
}
