// Changes of resources, and what else callers do with them, as the audit log records it.
import { Schema } from "effect"

/** What was done to which kind of resource. */
export const Action = Schema.Literals([
  "relayer.created",
  "relayer.updated",
  "relayer.deleted",
  "signer.created",
  "signer.deleted",
  "notification.created",
  "notification.updated",
  "notification.deleted",
  "notification.delivery_retried",
  "notification.deliveries_replayed",
  "notification.tested",
  "network.created",
  "network.updated",
  "network.deleted",
  "key.created",
  "key.rotated",
  "key.deleted",
  "master_key.rotated"
]).annotate({ identifier: "AuditAction" })
export type Action = typeof Action.Type

export const AuditResource = Schema.Literals([
  "relayer",
  "signer",
  "notification",
  "network",
  "key",
  "master_key"
]).annotate({ identifier: "AuditResource" })
export type AuditResource = typeof AuditResource.Type

type ResourceOf<A extends Action> = A extends `${infer Resource}.${string}` ? Resource : never

/** What was changed, as its name stands in the action's. */
export const resourceOf = (action: Action): AuditResource =>
  action.slice(0, action.indexOf(".")) as ResourceOf<typeof action>

/** A change, with the resource as the API shows it: without secrets. Where no resource was changed, `after` is what was done. */
export interface Change<S extends Schema.Constraint> {
  readonly action: Action
  readonly id: string
  readonly schema: S
  /** Absent where it was created. */
  readonly before?: S["Type"]
  /** Absent where it was deleted. */
  readonly after?: S["Type"]
}
