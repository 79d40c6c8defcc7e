// The table `audit_checkpoints`, and the records that a checkpoint stands for.
import { DateTime, Effect, Schema } from "effect"
import { client, query } from "../../sql/Query.ts"
import * as Rows from "../../sql/Rows.ts"

const Row = Schema.Struct({
  position: Rows.Integer,
  hash: Schema.Uint8Array,
  at: Schema.DateTimeUtcFromDate,
  mac: Schema.Uint8Array,
  pruned_at: Schema.NullOr(Schema.DateTimeUtcFromDate)
})
export type Row = typeof Row.Type

const readRows = Rows.all(Row)
const readFirst = Rows.first(Row)

export const make = Effect.gen(function* () {
  const sql = yield* client
  const columns = sql`SELECT position, hash, at, mac, pruned_at FROM audit_checkpoints`

  /** Does nothing if there is a checkpoint at this position. */
  const insert = ({ position, hash, at, mac }: Omit<Row, "pruned_at">) =>
    sql`
      INSERT INTO audit_checkpoints (position, hash, at, mac)
      VALUES (${position}, ${hash}, ${DateTime.toDate(at)}, ${mac}) ON CONFLICT (position) DO NOTHING`.pipe(
      Effect.asVoid,
      query("AuditCheckpointsRepo.insert")
    )

  /** The newest first. */
  const all = sql`${columns} ORDER BY position DESC`.pipe(Effect.flatMap(readRows), query("AuditCheckpointsRepo.all"))

  const find = (position: number) =>
    sql`${columns} WHERE position = ${position}`.pipe(Effect.flatMap(readFirst), query("AuditCheckpointsRepo.find"))

  const last = sql`${columns} ORDER BY position DESC LIMIT 1`.pipe(
    Effect.flatMap(readFirst),
    query("AuditCheckpointsRepo.last")
  )

  const lastPruned = sql`${columns} WHERE pruned_at IS NOT NULL ORDER BY position DESC LIMIT 1`.pipe(
    Effect.flatMap(readFirst),
    query("AuditCheckpointsRepo.lastPruned")
  )

  /** From now on, the log begins after this position. */
  const markPruned = (position: number, at: DateTime.Utc) =>
    sql`
      UPDATE audit_checkpoints SET pruned_at = ${DateTime.toDate(at)}
      WHERE position = ${position} AND pruned_at IS NULL`.pipe(Effect.asVoid, query("AuditCheckpointsRepo.markPruned"))

  /** Deletes at most `limit` records that were pruned. Returns how many. */
  const deletePruned = (limit: number) =>
    sql`
      DELETE FROM audit WHERE id = ANY(ARRAY(
        SELECT id FROM audit
        WHERE position <= (SELECT max(position) FROM audit_checkpoints WHERE pruned_at IS NOT NULL)
        ORDER BY position LIMIT ${limit} FOR UPDATE SKIP LOCKED
      )) RETURNING 1`.pipe(
      Effect.map((rows) => rows.length),
      query("AuditCheckpointsRepo.deletePruned")
    )

  return { insert, all, find, last, lastPruned, markPruned, deletePruned }
})
