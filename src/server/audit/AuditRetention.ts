// Deletes the audit records that were pruned.
import { Effect, Layer } from "effect"
import * as Retention from "../lifecycle/Retention.ts"
import { AuditCheckpointsRepo } from "./AuditCheckpointsRepo.ts"

/** Records that one statement deletes. */
const batch = 1000

/** Runs until its scope closes. */
export const layer = Layer.effectDiscard(
  Effect.flatMap(AuditCheckpointsRepo, ({ deletePruned }) =>
    Retention.run(
      "audit",
      Effect.map(deletePruned(batch), (count) => count === batch)
    )
  )
).pipe(Layer.provide(AuditCheckpointsRepo.layer))
