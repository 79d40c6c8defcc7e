// Changes of resources, and other actions of callers, as the audit log records them.
import { Schema } from "effect"
import * as Resources from "../access/Resources.ts"

export const Action = Schema.Literals(Resources.actions).annotate({
  identifier: "AuditAction",
  description: "What was done to which kind of resource.",
  examples: ["relayer.updated"]
})
export type Action = typeof Action.Type

export const AuditResource = Schema.Literals(Resources.auditResources).annotate({
  identifier: "AuditResource",
  description: "A kind of resource.",
  examples: ["relayer"]
})
export type AuditResource = typeof AuditResource.Type

type ResourceOf<A extends Action> = A extends `${infer Resource}.${string}` ? Resource : never

/** The kind of resource in the name of the action. */
export const resourceOf = (action: Action): AuditResource =>
  action.slice(0, action.indexOf(".")) as ResourceOf<typeof action>

/** A change, with the resource as the API shows it, without secrets. If no resource was changed, `after` is what was done. */
export interface Change<S extends Schema.Constraint> {
  readonly action: Action
  readonly id: string
  readonly schema: S
  /** Absent if the resource was created. */
  readonly before?: S["Type"]
  /** Absent if the resource was deleted. */
  readonly after?: S["Type"]
}
