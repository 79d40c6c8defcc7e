// Changes of resources, and other actions of callers, as the audit log records them.
import { Schema } from "effect"
import * as Resources from "../access/Resources.ts"
import { openList } from "../request/OpenList.ts"

/** The actions that this version of the service records. */
export const KnownAction = Schema.Literals(Resources.actions).annotate({
  identifier: "KnownAuditAction",
  description: "What was done to which kind of resource.",
  examples: ["relayer.updated"]
})
export type KnownAction = typeof KnownAction.Type

/** The kinds of resources that this version of the service records changes of. */
export const KnownAuditResource = Schema.Literals(Resources.auditResources).annotate({
  identifier: "KnownAuditResource",
  description: "A kind of resource.",
  examples: ["relayer"]
})
export type KnownAuditResource = typeof KnownAuditResource.Type

/** An action as it is read: another version of the service may have recorded it. */
export const Action = openList(KnownAction).annotate({
  identifier: "AuditAction",
  description: "What was done to which kind of resource. Later versions of the service may add actions.",
  examples: ["relayer.updated"]
})
export type Action = typeof Action.Type

export const AuditResource = openList(KnownAuditResource).annotate({
  identifier: "AuditResource",
  description: "A kind of resource. Later versions of the service may add kinds.",
  examples: ["relayer"]
})
export type AuditResource = typeof AuditResource.Type

type ResourceOf<A extends KnownAction> = A extends `${infer Resource}.${string}` ? Resource : never

/** The kind of resource in the name of the action. */
export const resourceOf = (action: KnownAction): KnownAuditResource =>
  action.slice(0, action.indexOf(".")) as ResourceOf<typeof action>

/** A change, with the resource as the API shows it, without secrets. If no resource was changed, `after` is what was done. */
export interface Change<S extends Schema.Constraint> {
  readonly action: KnownAction
  readonly id: string
  readonly schema: S
  /** Absent if the resource was created. */
  readonly before?: S["Type"]
  /** Absent if the resource was deleted. */
  readonly after?: S["Type"]
}
