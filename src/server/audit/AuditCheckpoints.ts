// Checkpoints of the audit log, and pruning: the chain then begins after a checkpoint, and the job `retention` deletes the records.
import { Array, Context, DateTime, Effect, Layer, Option } from "effect"
import { Hex } from "effect/encoding"
import * as Caller from "../../domain/access/Caller.ts"
import { AuditCheckpointNotFound, RecordedCheckpoint } from "../../domain/audit/Audit.ts"
import type { AuditCheckpoint, KnownAction, PruneAudit } from "../../domain/audit/Audit.ts"
import { BadRequest } from "../../domain/request/Request.ts"
import * as Transaction from "../../sql/Transaction.ts"
import { Audit } from "./Audit.ts"
import * as AuditCheckpointsRepo from "./AuditCheckpointsRepo.ts"
import type { Row } from "./AuditCheckpointsRepo.ts"
import { ServiceSecrets } from "../secrets/ServiceSecrets.ts"
import * as ChainBase from "./ChainBase.ts"

const shown = ({ position, hash, at, pruned_at }: Omit<Row, "mac">): AuditCheckpoint => ({
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
>()("effect-relayer/server/audit/AuditCheckpoints") {
  /** @internal */
  static readonly layer = Layer.effect(
    AuditCheckpoints,
    Effect.gen(function* () {
      const repo = yield* AuditCheckpointsRepo.make
      const base = yield* ChainBase.make
      const audit = yield* Audit
      const transaction = yield* Transaction.make

      const recorded = Effect.fnUntraced(function* (action: KnownAction, checkpoint: AuditCheckpoint) {
        yield* audit.record({ action, id: String(checkpoint.position), schema: RecordedCheckpoint, after: checkpoint })
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
      }).pipe(transaction, Effect.withSpan("AuditCheckpoints.create"))

      const prune = Effect.fn("AuditCheckpoints.prune")(function* (position: number, { hash }: PruneAudit) {
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
