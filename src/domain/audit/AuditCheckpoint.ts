// Checkpoints of the audit log: each stands for the records up to its position, which may then be exported and pruned.
import { Schema } from "effect"
import { Instant } from "../request/Instant.ts"
import { field } from "../request/Field.ts"
import { count } from "../request/Page.ts"
import * as Shown from "../request/Shown.ts"
import { AuditHead } from "./Audit.ts"

export const AuditCheckpoint = Schema.Struct({
  ...AuditHead.fields,
  at: field(Instant, "When the checkpoint was made.", "2026-01-02T03:04:05.678Z"),
  pruned_at: Schema.optionalKey(
    field(Instant, "When its records were pruned. Absent if they were not.", "2026-01-03T03:04:05.678Z")
  )
}).annotate({ identifier: "AuditCheckpoint", description: "Stands for the records up to its position." })
export type AuditCheckpoint = typeof AuditCheckpoint.Type

/** A checkpoint as the audit log records it. */
export const RecordedCheckpoint = AuditHead

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
