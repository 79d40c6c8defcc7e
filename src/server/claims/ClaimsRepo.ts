// The table `claims`. Each change is one statement, which compares holder and time after it has locked the row.
import { Effect, Schema } from "effect"
import { ClaimName, keptDays } from "../../domain/claim/Claim.ts"
import * as Rows from "../../sql/Rows.ts"
import { client, query } from "../../sql/Transaction.ts"

/** Who holds a name: the text of a request, and its API key. */
export interface Holder {
  readonly by: string
  readonly keyId: string
}

const Row = Schema.Struct({
  name: ClaimName,
  holder: Schema.String,
  key_id: Schema.String,
  is_final: Schema.Boolean,
  claimed_at: Schema.DateTimeUtcFromDate,
  ends_at: Schema.DateTimeUtcFromDate
})

/** A claim that has not ended. */
export type StoredClaim = typeof Row.Type

const readClaim = Rows.first(Row)

export const make = Effect.gen(function* () {
  const sql = yield* client
  const columns = sql`c.name, c.holder, c.key_id, c.is_final, c.claimed_at, c.ends_at`
  // The time of the statement itself: a statement that waited for a lock compares with the time after the wait.
  const isOpen = sql`c.ends_at > clock_timestamp()`
  const isOf = ({ by, keyId }: Holder) => sql`c.holder = ${by} AND c.key_id = ${keyId}`

  /** Claims a free name, or extends the lease of the holder. None: another holder has it, or it is final. */
  const lease = (name: ClaimName, holder: Holder, seconds: number) => {
    const end = sql`clock_timestamp() + ${seconds}::float8 * interval '1 second'`
    return sql`
      INSERT INTO claims AS c (name, holder, key_id, claimed_at, ends_at)
      VALUES (${name}, ${holder.by}, ${holder.keyId}, clock_timestamp(), ${end})
      ON CONFLICT (name) DO UPDATE SET holder = excluded.holder, key_id = excluded.key_id, is_final = false,
        claimed_at = CASE WHEN ${isOpen} THEN c.claimed_at ELSE clock_timestamp() END, ends_at = ${end}
      WHERE (NOT c.is_final AND ${isOf(holder)}) OR NOT ${isOpen}
      RETURNING ${columns}`.pipe(Effect.flatMap(readClaim), query("ClaimsRepo.lease"))
  }

  /** Makes the claim final. None: the holder has no open claim that is not final. */
  const finish = (name: ClaimName, holder: Holder) =>
    sql`
      UPDATE claims AS c SET is_final = true, ends_at = clock_timestamp() + ${keptDays}::float8 * interval '1 day'
      WHERE c.name = ${name} AND ${isOf(holder)} AND NOT c.is_final AND ${isOpen}
      RETURNING ${columns}`.pipe(Effect.flatMap(readClaim), query("ClaimsRepo.finish"))

  /** Ends the lease of the holder. None: it has none. */
  const release = (name: ClaimName, holder: Holder) =>
    sql`
      DELETE FROM claims AS c WHERE c.name = ${name} AND ${isOf(holder)} AND NOT c.is_final AND ${isOpen}
      RETURNING ${columns}`.pipe(Effect.flatMap(readClaim), query("ClaimsRepo.release"))

  const find = (name: ClaimName) =>
    sql`SELECT ${columns} FROM claims AS c WHERE c.name = ${name} AND ${isOpen}`.pipe(
      Effect.flatMap(readClaim),
      query("ClaimsRepo.find")
    )

  /** Deletes at most `limit` claims that have ended. Returns the number of deleted rows. */
  const prune = (limit: number) =>
    sql`
      DELETE FROM claims WHERE name = ANY(ARRAY(
        SELECT c.name FROM claims c WHERE c.ends_at <= now() ORDER BY c.ends_at LIMIT ${limit} FOR UPDATE SKIP LOCKED
      )) RETURNING 1`.pipe(
      Effect.map((rows) => rows.length),
      query("ClaimsRepo.prune")
    )

  return { lease, finish, release, find, prune }
})
