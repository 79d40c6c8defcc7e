// The table `idempotency_keys`.
import { Context, DateTime, Effect, Layer, Schema } from "effect"
import type { Option } from "effect"
import { SqlSchema } from "effect/sql"
import { client, query } from "../../sql/Query.ts"

const Headers = Schema.fromJsonString(Schema.Record(Schema.String, Schema.String))

const Row = Schema.Struct({
  request_hash: Schema.Uint8Array,
  status: Schema.Int,
  headers: Headers,
  body_sealed: Schema.Uint8Array
})
export type KeptAnswer = typeof Row.Type

const encodeHeaders = Schema.encodeSync(Headers)

export class IdempotencyRepo extends Context.Service<
  IdempotencyRepo,
  {
    /** Until the transaction ends, in all instances; false where another transaction has it. */
    lock(id: string): Effect.Effect<boolean>
    /** An answer that was kept since a moment. */
    find(id: string, since: DateTime.Utc): Effect.Effect<Option.Option<KeptAnswer>>
    /** In place of one that is too old. */
    keep(id: string, answer: KeptAnswer, at: DateTime.Utc): Effect.Effect<void>
    /** At most `limit` answers that were kept before a moment. */
    forget(before: DateTime.Utc, limit: number): Effect.Effect<void>
  }
>()("effect-relayer/server/idempotency/IdempotencyRepo") {
  static readonly layer = Layer.effect(
    IdempotencyRepo,
    Effect.gen(function* () {
      const sql = yield* client

      const lock = (id: string) =>
        sql<{ locked: boolean }>`SELECT pg_try_advisory_xact_lock(hashtextextended(${id}, 0)) AS locked`.pipe(
          Effect.map(([row]) => row?.locked === true),
          query("IdempotencyRepo.lock")
        )

      const findRow = SqlSchema.findOneOption({
        Request: Schema.Struct({ id: Schema.String, since: Schema.Date }),
        Result: Row,
        execute: ({ id, since }) => sql`
          SELECT request_hash, status::int4 AS status, headers::text AS headers, body_sealed FROM idempotency_keys
          WHERE id = ${id} AND created_at >= ${since}`
      })
      const find = (id: string, since: DateTime.Utc) =>
        findRow({ id, since: DateTime.toDate(since) }).pipe(query("IdempotencyRepo.find"))

      const keep = (id: string, answer: KeptAnswer, at: DateTime.Utc) =>
        sql`
          INSERT INTO idempotency_keys (id, request_hash, status, headers, body_sealed, created_at)
          VALUES (${id}, ${answer.request_hash}, ${answer.status}, ${encodeHeaders(answer.headers)}::text::jsonb,
            ${answer.body_sealed}, ${DateTime.toDate(at)})
          ON CONFLICT (id) DO UPDATE SET request_hash = excluded.request_hash, status = excluded.status,
            headers = excluded.headers, body_sealed = excluded.body_sealed, created_at = excluded.created_at`.pipe(
          Effect.asVoid,
          query("IdempotencyRepo.keep")
        )

      const forget = (before: DateTime.Utc, limit: number) =>
        sql`
          DELETE FROM idempotency_keys WHERE id IN (
            SELECT id FROM idempotency_keys WHERE created_at < ${DateTime.toDate(before)}
            ORDER BY created_at LIMIT ${limit} FOR UPDATE SKIP LOCKED
          )`.pipe(Effect.asVoid, query("IdempotencyRepo.forget"))

      return IdempotencyRepo.of({ lock, find, keep, forget })
    })
  )
}
