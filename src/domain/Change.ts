// Changes of resources, as the audit log records them.
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

/** A change, with the resource as the API shows it: without secrets. */
export interface Change<S extends Schema.Constraint> {
  readonly action: Action
  readonly id: string
  readonly schema: S
  /** Absent where it was created. */
  readonly before?: S["Type"]
  /** Absent where it was deleted. */
  readonly after?: S["Type"]
}
