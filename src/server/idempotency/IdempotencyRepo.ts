// The table `idempotency_keys`: a row holds the stored response of a key, or the claim of a request that is running.
import { DateTime, Effect, Schema } from "effect"
import { client, query } from "../../sql/Query.ts"
import * as Rows from "../../sql/Rows.ts"

const Headers = Schema.fromJsonString(Schema.Record(Schema.String, Schema.String))

const Finished = Schema.Struct({
  is_running: Schema.Literal(false),
  request_hash: Schema.Uint8Array,
  status: Schema.Int,
  headers: Headers,
  body_sealed: Schema.Uint8Array
})
const Running = Schema.Struct({ is_running: Schema.Literal(true), request_hash: Schema.Uint8Array })
const Row = Schema.Union([Finished, Running])

export type SealedResponse = Pick<typeof Finished.Type, "status" | "headers" | "body_sealed">

/** One run of a request with a key. */
export interface Run {
  /** A hash of the caller and the key. */
  readonly id: string
  readonly requestHash: Uint8Array
  /** A UUID of this run alone. */
  readonly claim: string
  readonly at: DateTime.Utc
  /** Responses that were stored before are no longer valid. */
  readonly validSince: DateTime.Utc
}

/** The columns of a stored response, or those of a claim. */
interface State {
  readonly status: number | null
  readonly headers: string | null
  readonly body_sealed: Uint8Array | null
  readonly leaseSeconds: number | null
}

const readRow = Rows.first(Row)
const readLock = Rows.one(Schema.Struct({ locked: Schema.Boolean }))

const encodeHeaders = Schema.encodeSync(Headers)

export const make = Effect.gen(function* () {
  const sql = yield* client

  /** Excludes other transactions of all instances until the running one ends; false if another one holds the lock. */
  const lock = (id: string) =>
    sql`SELECT pg_try_advisory_xact_lock(hashtextextended(${id}, 0)) AS locked`.pipe(
      Effect.flatMap(readLock),
      Effect.map(({ locked }) => locked),
      query("IdempotencyRepo.lock")
    )

  /** The valid response, or the claim whose lease has not run out. */
  const find = (id: string, validSince: DateTime.Utc) =>
    sql`
      SELECT claim IS NOT NULL AS is_running, request_hash, status::int4 AS status, headers::text AS headers, body_sealed
      FROM idempotency_keys
      WHERE id = ${id} AND created_at >= ${DateTime.toDate(validSince)} AND (claim IS NULL OR claimed_until > now())`.pipe(
      Effect.flatMap(readRow),
      query("IdempotencyRepo.find")
    )

  /** Replaces its own claim, a lease that has run out and a response that is no longer valid, and nothing else. */
  const put = (run: Run, { status, headers, body_sealed, leaseSeconds }: State) =>
    Effect.map(
      sql`
        INSERT INTO idempotency_keys AS k
          (id, request_hash, created_at, status, headers, body_sealed, claim, claimed_until)
        VALUES (${run.id}, ${run.requestHash}, ${DateTime.toDate(run.at)}, ${status}::smallint,
          ${headers}::text::jsonb, ${body_sealed}::bytea, ${leaseSeconds === null ? null : run.claim}::uuid,
          now() + ${leaseSeconds}::int * interval '1 second')
        ON CONFLICT (id) DO UPDATE SET request_hash = excluded.request_hash, created_at = excluded.created_at,
          status = excluded.status, headers = excluded.headers, body_sealed = excluded.body_sealed,
          claim = excluded.claim, claimed_until = excluded.claimed_until
        WHERE k.claim = ${run.claim}::uuid OR k.claimed_until <= now()
          OR k.created_at < ${DateTime.toDate(run.validSince)}
        RETURNING 1`,
      (rows) => rows.length === 1
    )

  /** Claims the key for `leaseSeconds`; false if another run has claimed it, or finished. */
  const claim = (run: Run, leaseSeconds: number) =>
    put(run, { status: null, headers: null, body_sealed: null, leaseSeconds }).pipe(query("IdempotencyRepo.claim"))

  /** Stores the response and ends the claim; false if another run has claimed the key, or finished. */
  const finish = (run: Run, { status, headers, body_sealed }: SealedResponse) =>
    put(run, { status, headers: encodeHeaders(headers), body_sealed, leaseSeconds: null }).pipe(
      query("IdempotencyRepo.finish")
    )

  /** Ends the claim without a response. */
  const release = ({ id, claim }: Run) =>
    sql`DELETE FROM idempotency_keys WHERE id = ${id} AND claim = ${claim}::uuid`.pipe(
      Effect.asVoid,
      query("IdempotencyRepo.release")
    )

  /** Deletes at most `limit` rows that are older than `before`; returns how many. */
  const prune = (before: DateTime.Utc, limit: number) =>
    sql`
      DELETE FROM idempotency_keys WHERE id = ANY(ARRAY(
        SELECT id FROM idempotency_keys WHERE created_at < ${DateTime.toDate(before)}
        ORDER BY created_at LIMIT ${limit} FOR UPDATE SKIP LOCKED
      )) RETURNING 1`.pipe(
      Effect.map((rows) => rows.length),
      query("IdempotencyRepo.prune")
    )

  return { lock, find, claim, finish, release, prune }
})
