// Changes of resources, and what else callers do with them, as the audit log records it.
import { Schema } from "effect"
import * as ApiKeyNames from "../access/ApiKeyNames.ts"
import * as MasterKeyNames from "../masterKey/MasterKeyNames.ts"
import * as NetworkNames from "../network/NetworkNames.ts"
import * as NotificationNames from "../notification/NotificationNames.ts"
import * as RelayerNames from "../relayer/RelayerNames.ts"
import * as SignerNames from "../signer/SignerNames.ts"

/** What was done to which kind of resource. */
export const Action = Schema.Literals([
  ...RelayerNames.actions,
  ...SignerNames.actions,
  ...NotificationNames.actions,
  ...NetworkNames.actions,
  ...ApiKeyNames.actions,
  ...MasterKeyNames.actions
]).annotate({ identifier: "AuditAction" })
export type Action = typeof Action.Type

export const AuditResource = Schema.Literals([
  RelayerNames.auditResource,
  SignerNames.auditResource,
  NotificationNames.auditResource,
  NetworkNames.auditResource,
  ApiKeyNames.auditResource,
  MasterKeyNames.auditResource
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
