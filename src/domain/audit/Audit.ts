// The audit log: every change, in the order in which the changes were committed, chained so that tampering shows.
import { Schema } from "effect"
import { Action, AuditResource } from "./Change.ts"
import { Value } from "../request/ExactJson.ts"
import { Instant } from "../request/Instant.ts"
import { Count } from "../request/Page.ts"
import { searchText } from "../request/Text.ts"

/** Lower-case hex of a SHA-256. */
const Hash = Schema.String.check(Schema.isPattern(/^[0-9a-f]{64}$/u, { expected: "64 hex digits" }))

export const AuditRecord = Schema.Struct({
  /** From 1, without gaps. */
  position: Schema.Int,
  at: Instant,
  /** Of the API key; `administrator` is the one of the configuration. */
  key_id: Schema.String,
  action: Action,
  resource: AuditResource,
  resource_id: Schema.String,
  request_id: Schema.optionalKey(Schema.String),
  /** As the API shows the resource. Absent where it was created, or stays as it is. */
  before: Schema.optionalKey(Value),
  /** Absent where it was deleted. Of what changes no resource, such as a retry: what was done. */
  after: Schema.optionalKey(Value),
  /** SHA-256 of this record and of the hash before. */
  hash: Hash
}).annotate({ identifier: "AuditRecord" })
export type AuditRecord = typeof AuditRecord.Type

/** The end of the chain: kept elsewhere, it shows later whether records up to it were changed or cut off. */
export const AuditHead = Schema.Struct({ position: Schema.Int, hash: Hash }).annotate({ identifier: "AuditHead" })
export type AuditHead = typeof AuditHead.Type

export const AuditVerification = Schema.Struct({
  valid: Schema.Boolean,
  /** Records that were read. */
  checked: Schema.Int,
  head: Schema.optionalKey(AuditHead),
  /** The first record that is not what was written, or is missing. */
  broken_at: Schema.optionalKey(Schema.Int)
}).annotate({ identifier: "AuditVerification" })
export type AuditVerification = typeof AuditVerification.Type

const AuditFilter = {
  action: Schema.optionalKey(Action),
  resource: Schema.optionalKey(AuditResource),
  resource_id: Schema.optionalKey(searchText),
  key_id: Schema.optionalKey(searchText),
  request_id: Schema.optionalKey(searchText),
  /** From this moment on. */
  since: Schema.optionalKey(Instant),
  /** Before this moment. */
  until: Schema.optionalKey(Instant)
}
export type AuditFilter = { readonly [K in keyof typeof AuditFilter]?: (typeof AuditFilter)[K]["Type"] }

export const AuditQuery = {
  ...AuditFilter,
  limit: Schema.optionalKey(Count.annotateKey({ description: "Records on a page, 50 by default, at most 1000." })),
  order: Schema.optionalKey(
    Schema.Literals(["newest", "oldest"]).annotateKey({ description: "Which come first; `newest` by default." })
  ),
  cursor: Schema.optionalKey(
    Schema.String.annotateKey({ description: "From the `Link` header (`rel=next`) of the page before." })
  )
}
export interface AuditQuery extends AuditFilter {
  readonly limit?: number
  readonly order?: "newest" | "oldest"
  readonly cursor?: string
}

/** A head that was kept, which the log has to lead to: both or neither. */
export const AuditAnchor = {
  position: Schema.optionalKey(Count),
  hash: Schema.optionalKey(Hash)
}
export interface AuditAnchor {
  readonly position?: number
  readonly hash?: string
}
