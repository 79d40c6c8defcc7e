// The place where the process stores the last head of the audit log that it has verified, outside of the database.
import { Context, Option } from "effect"
import type { Effect } from "effect"
import type { AuditHead } from "../../domain/audit/Audit.ts"

export interface Store {
  readonly read: Effect.Effect<Option.Option<AuditHead>>
  write(head: AuditHead): Effect.Effect<void>
}

/** Without a store, an instance knows the head until it stops. */
export const AuditHeadStore = Context.Reference<Option.Option<Store>>("effect-relayer/server/audit/AuditHeadStore", {
  defaultValue: Option.none
})
