// The audit log: changes in commit order, chained by hashes so that tampering can be detected, and checkpoints to prune it.
import { Schema, SchemaTransformation } from "effect"
import * as Resources from "../access/Resources.ts"
import { Value } from "../request/ExactJson.ts"
import { field } from "../request/Field.ts"
import { count, cursor } from "../request/Page.ts"
import * as Shown from "../request/Shown.ts"
import { Instant, openList, searchText } from "../request/Shown.ts"

// Changes of resources, and other actions of callers, as the audit log records them.

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

/** Lower-case hex of a SHA-256. */
const Hash = Schema.String.check(Schema.isPattern(/^[0-9a-f]{64}$/u, { expected: "64 hex digits" }))

const hash = "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08"

const requestId = "4f1c2c9e-8f0b-4c56-9d5e-0a7b1f1f2a3b"

export const AuditRecord = Schema.Struct({
  position: field(Schema.Int, "Position in the log, from 1, without gaps.", 42),
  at: field(Instant, "When the change was made.", "2026-01-02T03:04:05.678Z"),
  key_id: field(
    Shown.Id,
    "Id of the API key that made the change; `administrator` is the key of the configuration.",
    "administrator"
  ),
  action: Action,
  resource: AuditResource,
  resource_id: field(Shown.Id, "Identifier of the changed resource.", "payouts"),
  request_id: Schema.optionalKey(field(Shown.Id, "The `x-request-id` of the request.", requestId)),
  client_address: Schema.optionalKey(
    field(
      Shown.ClientAddress,
      "Network address of the client. Absent in records of versions that did not store it.",
      "198.51.100.7"
    )
  ),
  before: Schema.optionalKey(
    field(Value, "The resource before the change. Absent if it was created, or if it is unchanged.", { paused: false })
  ),
  after: Schema.optionalKey(
    field(Value, "The resource after the change, or what was done. Absent if it was deleted.", { paused: true })
  ),
  hash: field(
    Shown.hex(64),
    "SHA-256 of this record and of the hash of the previous record, in hex. Any other value shows that the record was tampered with.",
    hash
  )
}).annotate({ identifier: "AuditRecord", description: "A record of the audit log." })
export type AuditRecord = typeof AuditRecord.Type

/** The newest record of the chain. A stored head shows later whether the records up to it were changed or cut off. */
export const AuditHead = Schema.Struct({
  position: field(Schema.Natural, "Position of the newest record.", 42),
  hash: field(Hash, "Hash of the newest record.", hash)
}).annotate({ identifier: "AuditHead", description: "The newest record of the chain." })
export type AuditHead = typeof AuditHead.Type

const headText = Schema.String.check(
  Schema.isPattern(/^\d{1,16}:[0-9a-f]{64}$/u, { expected: "a position and a hash, as position:hash" })
)

/** A head as text, such as `42:9f86…`. */
export const AuditHeadText = headText.pipe(
  Schema.decodeTo(
    AuditHead,
    SchemaTransformation.transform({
      decode: (text: string) => {
        const [position, hash = ""] = text.split(":")
        return { position: Number(position), hash }
      },
      encode: ({ position, hash }) => `${position}:${hash}`
    })
  )
)

export const AuditVerification = Schema.Struct({
  valid: field(Schema.Boolean, "Whether every record that was read is as it was written.", true),
  checked: field(Schema.Natural, "Records that this request read.", 42),
  head: Schema.optionalKey(AuditHead),
  next: Schema.optionalKey(
    field(
      headText,
      "The log has more records: send this as `from` to verify them. Absent if the end was reached.",
      `42:${hash}`
    )
  ),
  broken_at: Schema.optionalKey(field(Schema.Int, "Position of the first record that was changed or is missing.", 17))
}).annotate({ identifier: "AuditVerification", description: "The result of a verification." })
export type AuditVerification = typeof AuditVerification.Type

const AuditFilter = {
  action: Schema.optionalKey(field(KnownAction, "Only records of this action.")),
  resource: Schema.optionalKey(field(KnownAuditResource, "Only records about this kind of resource.")),
  resource_id: Schema.optionalKey(field(searchText, "Only records about this resource.", "payouts")),
  key_id: Schema.optionalKey(field(searchText, "Only changes by this API key.", "administrator")),
  request_id: Schema.optionalKey(field(searchText, "Only changes by this request.", requestId)),
  since: Schema.optionalKey(field(Instant, "Only changes from this moment on.", "2026-01-01T00:00:00Z")),
  until: Schema.optionalKey(field(Instant, "Only changes before this moment.", "2026-02-01T00:00:00Z"))
}
export type AuditFilter = { readonly [K in keyof typeof AuditFilter]?: (typeof AuditFilter)[K]["Type"] }

export const AuditQuery = {
  ...AuditFilter,
  limit: Schema.optionalKey(count("Records on a page, at most 1000.", 50, 50)),
  order: Schema.optionalKey(
    field(Schema.Literals(["newest", "oldest"]), "Which records come first. The default is `newest`.", "oldest")
  ),
  cursor: Schema.optionalKey(cursor)
}
export interface AuditQuery extends AuditFilter {
  readonly limit?: number
  readonly order?: "newest" | "oldest"
  readonly cursor?: string
}

export const VerifyAudit = {
  position: Schema.optionalKey(count("`position` of a stored head, which the log must still contain.", 42)),
  hash: Schema.optionalKey(field(Hash, "`hash` of the stored head.", hash)),
  from: Schema.optionalKey(
    field(AuditHeadText, "`next` of the previous request. If absent, from the beginning of the log.", `42:${hash}`)
  )
}
export interface VerifyAudit {
  /** A stored head that the log must contain: both fields or neither. */
  readonly position?: number
  readonly hash?: string
  /** The verified head after which the verification continues. */
  readonly from?: AuditHead
}

// Checkpoints of the audit log: each stands for the records up to its position, which may then be exported and pruned.

export const AuditCheckpoint = Schema.Struct({
  ...AuditHead.fields,
  at: field(Instant, "When the checkpoint was made.", "2026-01-02T03:04:05.678Z"),
  pruned_at: Schema.optionalKey(
    field(Instant, "When its records were pruned. Absent if they were not.", "2026-01-03T03:04:05.678Z")
  )
}).annotate({ identifier: "AuditCheckpoint", description: "Stands for the records up to its position." })
export type AuditCheckpoint = typeof AuditCheckpoint.Type

export const PruneAudit = Schema.Struct({
  hash: AuditHead.fields.hash
}).annotate({ identifier: "PruneAudit", description: "Confirms the checkpoint whose records are to be pruned." })
export type PruneAudit = typeof PruneAudit.Type

const orNull = (schema: typeof Shown.Id, description: string, example: string) =>
  field(Schema.NullOr(schema), description, example)

const Digits = Shown.shaped(/^[1-9][0-9]{0,15}$/)
const JsonText = Shown.shaped(/^\{"[a-z]{1,8}":(true|false)\}$/)

/** A record in the form that is hashed: with its JSON as the database has it. */
export const AuditExportRecord = Schema.Struct({
  position: AuditHead.fields.position,
  hash: field(Shown.hex(64), "SHA-256 of this record and of the hash of the previous record, in hex.", "9f86d081"),
  id: field(Digits, "Number of the record in the database.", "57"),
  at_micros: field(Digits, "When the change was made, in microseconds since 1970.", "1767323045678000"),
  key_id: field(Shown.Id, "Id of the API key that made the change.", "administrator"),
  action: field(Shown.shaped(/^[a-z]{3,9}\.[a-z]{3,9}$/), "What was done.", "relayer.updated"),
  resource: field(Shown.shaped(/^[a-z]{3,9}$/), "The kind of resource.", "relayer"),
  resource_id: field(Shown.Id, "Identifier of the changed resource.", "payouts"),
  request_id: orNull(Shown.Id, "The `x-request-id` of the request.", "4f1c2c9e-8f0b-4c56-9d5e-0a7b1f1f2a3b"),
  client_address: orNull(Shown.ClientAddress, "The network address of the client.", "192.0.2.7"),
  before: orNull(JsonText, "The resource before the change, as JSON text.", '{"paused":false}'),
  after: orNull(JsonText, "The resource after the change, as JSON text.", '{"paused":true}')
}).annotate({ identifier: "AuditExportRecord", description: "A record of the audit log in the form that is hashed." })
export type AuditExportRecord = typeof AuditExportRecord.Type

export const ExportAudit = {
  after: Schema.optionalKey(count("Only records after this position. If absent, from the first record.", 42)),
  until: Schema.optionalKey(count("Only records up to this position. If absent, to the last record.", 1042))
}
export interface ExportAudit {
  readonly after?: number
  readonly until?: number
}

/** There is no checkpoint at this position. */
export class AuditCheckpointNotFound extends Schema.TaggedError<AuditCheckpointNotFound>()(
  "AuditCheckpointNotFound",
  {}
) {
  override readonly message = "the audit log has no checkpoint at this position"
}
